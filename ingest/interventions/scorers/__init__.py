"""What scores the continuations that a model writes when its neurons are changed.

It may import what finds models, the built-in text, and arrays; it knows no job and no warehouse.
"""
