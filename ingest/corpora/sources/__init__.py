"""Where texts come from, a file per kind: built in, made, read from files or from the hub."""
