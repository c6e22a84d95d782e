"""How predictions are built: dominant sub-updates, saturation, elimination."""
