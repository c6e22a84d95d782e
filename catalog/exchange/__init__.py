"""Out of a warehouse and into another: exports, imports, merging.

Imports every other room of this package.
"""
