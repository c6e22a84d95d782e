"""How files are read, a module a kind of file: each holds its `FORMAT`, and a new one is found by lying here.

Imports `document`, and the errors and the memory of texts.
"""
