"""Models of several sizes side by side.

Imports `views` and the rooms below it, and no other question.
"""
