"""Trains the mini family.

Imports `corpora`, `models` and `numerics`.
"""
