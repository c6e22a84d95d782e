"""From a model's name to blocks that run: where weights lie, what architecture they are, how they are read.

Imports `numerics`. The only room that knows architectures.
"""
