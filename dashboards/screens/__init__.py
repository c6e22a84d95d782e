"""The pages, a file each, which Streamlit runs from the first line to the last.

Imports every other room. A new page is a file in one of its rooms and a line in `addresses`.
"""
