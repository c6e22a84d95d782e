"""Which value vectors point the same way."""
