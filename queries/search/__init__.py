"""From words to the neurons that promote them, suppress them or fire on them.

Imports `views` and the rooms below it, and no other question.
"""
