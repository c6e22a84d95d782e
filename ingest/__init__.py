"""Measurements: a model and a text become checked frames of numbers about every neuron."""
