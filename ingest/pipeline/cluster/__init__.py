"""Measuring by workers of a Ray cluster.

Only `session` and `crew` know Ray, and import it when they are asked to.
"""
