"""Where texts come from, a file a kind: built in, made, read from files or from the hub."""
