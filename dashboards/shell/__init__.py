"""What stands around every page: the front page, the navigation, the box for a word or an address, the trail.

Imports pieces of pages and below.
"""
