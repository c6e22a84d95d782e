"""What stands around every page: the front page, the navigation, the tabs of a place, the trail.

Imports pieces of pages and below.
"""
