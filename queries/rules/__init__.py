"""Judging the highest tokens of a vector by rules: which patterns they follow more often than random tokens do.

Imports `ask` and the rooms below it. Rules are handed tokens alone: they cannot know what a vector is.
"""
