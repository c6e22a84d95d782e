"""From text to sequences of token ids, and to the prompts cut from its sentences.

Imports `models` and `numerics`.
"""
