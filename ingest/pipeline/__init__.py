"""Measures and publishes.

Imports every other room of this package.
"""
