"""Answers as pictures: the pages of the dashboard."""
