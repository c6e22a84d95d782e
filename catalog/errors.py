"""The one base of every error a person can cause, so that the edges know which ones to print as a sentence."""


class NeurothekError(Exception):
    """A handled user error: its text says what was asked, what was found and what to do."""


class NotHere(NeurothekError):
    """What an answer needs is not on this machine: nothing is wrong with the question."""
