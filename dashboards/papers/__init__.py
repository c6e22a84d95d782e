"""The papers' figures, for the models of a warehouse, as files.

Imports `charts`.
"""
