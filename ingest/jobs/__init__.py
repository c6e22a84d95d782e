"""The measurements: one folder each, and one line of the registry.

Imports `forward`, `runs` and the rooms below them.
"""
