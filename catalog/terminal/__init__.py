"""What people see on a terminal: options of commands, tables, files of rows, progress.

Imports the ground alone.
"""
