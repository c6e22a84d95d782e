"""The pages about what a model predicts, and when: traced, counted, cut short, changed.

Imports every room below the pages.
"""
