"""The command line: every command, its options, and how it ends."""
