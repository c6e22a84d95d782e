"""The pages that lead into one model: by a word, by its layers, neuron by neuron.

Imports every room below the pages.
"""
