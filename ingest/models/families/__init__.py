"""What is particular to a family of language models; the rest of the project sees only `transformer`."""
