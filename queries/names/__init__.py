"""What people type, such as models, corpora, neurons and words, as what the warehouse knows them by.

Imports `ask` and `errors`.
"""
