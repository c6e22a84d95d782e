"""SQL that people type: judged, run in a process of its own, its answer handed over.

Imports `views` and the rooms below it, and no other question.
"""
