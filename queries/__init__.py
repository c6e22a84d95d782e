"""Answers: the views people query, and search, neuron and compare on top of them."""
