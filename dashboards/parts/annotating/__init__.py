"""Pieces of the page Annotate: what is judged, a draft that outlives a click, and how it is saved.

Imports widgets and below.
"""
