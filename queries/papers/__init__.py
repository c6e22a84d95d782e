"""The papers: each figure, table and claim as one object, and the claims judged on a family of models."""
