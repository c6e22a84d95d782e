"""How a model processes one prompt, joined with what the warehouse knows about its neurons.

Imports `views` and the rooms below it, and no other question.
"""
