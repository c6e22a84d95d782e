"""The views, a SQL file each, how they are made, and what is told of the rows that they hold.

Imports `names` and the rooms below it. A new view is a file here.
"""
