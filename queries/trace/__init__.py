"""What a model makes of one prompt, joined with what the warehouse knows of its neurons.

Imports `views` and the rooms below it, and no other question.
"""
