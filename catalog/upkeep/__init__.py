"""Checks of a warehouse, and what people change in it. A new check is a file in `checks`.

Imports `publishing` and the rooms below it.
"""
