"""Pieces of the pages that lead from a model to its layers, its clusters and its neurons."""
