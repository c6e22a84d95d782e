"""Versions of the schema `store`: small, as every opening of a file asks for them."""

FIRST = 28
"""The earliest that is read; what came before it was one."""

VERSION = 42
"""The one that this release reads and writes."""
