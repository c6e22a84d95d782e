"""Pieces of pages that several pages show, or that keep a state.

Imports `widgets` and the rooms below it.
"""
