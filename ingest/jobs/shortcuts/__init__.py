"""How linear a model is between its states."""
