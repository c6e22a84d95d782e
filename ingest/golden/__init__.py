"""Numbers that others published, beside what this package finds for the same models.

Imports `corpora`, `lens` and `models`.
"""
