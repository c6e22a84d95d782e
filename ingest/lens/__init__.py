"""Vectors read in the vocabulary: scores, their moments, the highest and lowest tokens.

Imports `models` and `numerics`.
"""
