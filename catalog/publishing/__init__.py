"""Shards become rows: all of a run, or none.

Imports `store` and `tables`.
"""
