"""What identifies a run, and which runs are finished.

Imports `corpora`, `models` and `numerics`.
"""
