"""How firing depends on the position in the sequence."""
