"""The tables of the warehouse as typed schemas, a file per subject, and the scripts that bring older files up to date.

Imports the ground alone. A new table is a file here.
"""
