"""What pages are made of: a page's lease and address, pickers, figures, tables, text.

Imports `charts` and `session`.
"""
