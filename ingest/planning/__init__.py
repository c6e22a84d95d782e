"""What is known before anything is measured: what is to be done, in what order, memory, disk and time.

Imports `jobs` and the rooms below it.
"""
