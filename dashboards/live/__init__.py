"""Pieces of pages for which a model runs on a prompt: the grid of a trace, one cell of it, one neuron's switch.

Imports widgets and below.
"""
