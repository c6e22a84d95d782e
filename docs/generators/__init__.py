"""What writes the documents that are made, not written, and proves that they are up to date."""
