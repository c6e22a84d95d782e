"""What must hold in a warehouse, and what people change in it. A new law is a file in `laws`.

Imports `publishing` and the rooms below it.
"""
