"""What a model writes when some of its neurons are changed, and what scores it."""
