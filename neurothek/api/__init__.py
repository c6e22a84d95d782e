"""The one interface for callers: `open` a warehouse, and call what it can do; commands and pages call the same."""
