"""Neurons in words: what a language model behind an endpoint, or a person, says of them, and how well that predicts."""
