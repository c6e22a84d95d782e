"""SQL that people type: judged, run in a separate process, its answer handed over.

Imports `views` and the rooms below it, and no other question.
"""
