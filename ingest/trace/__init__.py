"""Answers that need the model at the time of the question.

Imports `forward` and the rooms below it.
"""
