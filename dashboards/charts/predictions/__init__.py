"""Drawings of what states already predict, what leaving early costs, and what sub-updates do to a token.

Imports the axes and models of the other charts.
"""
