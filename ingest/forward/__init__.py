"""The forward pass, and what watches it.

Imports `corpora`, `lens`, `models` and `numerics`.
"""
