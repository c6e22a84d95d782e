"""What changing neurons did to what a model says, beside random neurons of the same layers and frequencies.

Imports `views` and the rooms below it, and no other question.
"""
