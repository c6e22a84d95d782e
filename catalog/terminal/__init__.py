"""What people see on a terminal: tables, files of rows, remarks, progress.

Imports the ground alone.
"""
