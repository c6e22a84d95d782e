"""How any question is put: statements in SQL and their parts, answers, and what DuckDB makes of a text.

Imports `errors`.
"""
