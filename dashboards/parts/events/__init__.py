"""What the page of events shows: who pushes a word to the top, in which texts, and how ten neurons score a token.

Imports the pieces of pages about tokens and neurons.
"""
