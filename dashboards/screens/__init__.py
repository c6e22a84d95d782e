"""The pages, a file each, which Streamlit runs from the first line to the last.

Imports every other room. A new page is a file here and a line in `addresses`.
"""
