"""What people say of value vectors: the sample that they judge, and the lines that they hand in.

Imports `views` and the rooms below it, and no other question.
"""
