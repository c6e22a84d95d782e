"""What changing neurons does, as drawings: nothing is drawn without what random neurons do.

Imports the axes of the other charts and the root's colours alone.
"""
