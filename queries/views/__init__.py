"""The views, one SQL file each, how they are installed, and what is read from their rows.

Imports `names` and the rooms below it. A new view is a file here.
"""
