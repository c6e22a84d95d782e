"""Pieces of the page of one neuron: its tokens, what it fires on, its relatives.

Imports widgets and below.
"""
