"""Errors of questions: each is one sentence, of a kind whose fields programs read."""
