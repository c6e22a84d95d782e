"""The catalog: typed tables, staging, publishing and the one door to the DuckDB warehouse."""
