"""Catalogs that travel: a warehouse as a folder of Parquet that is read where it lies, on the hub or anywhere else.

Imports `exchange` and the rooms below it.
"""
