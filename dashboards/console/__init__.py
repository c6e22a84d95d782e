"""What the SQL page is made of: an editor that knows the views, what it completes, questions to start from.

Imports widgets and below.
"""
