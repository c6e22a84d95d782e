"""The one door to the file: who may open it, how it is bounded, and whether it is what was written.

Imports `tables`.
"""
