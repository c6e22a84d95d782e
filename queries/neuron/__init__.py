"""The page of one neuron.

Imports `views` and the rooms below it, and no other question.
"""
