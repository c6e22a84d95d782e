"""How early a model can be left, and at what cost."""
