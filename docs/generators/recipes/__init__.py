"""The recipes of the papers: their commands, and what each size needs."""
