"""Errors of earlier code, which give way to the kinds of `catalog.problems`."""

from neurothek.catalog.problems import NeurothekError, NeurothekWarning, memory_refused

__all__ = ["MemoryRefused", "NeurothekError", "NeurothekWarning", "NotHere"]


class NotHere(NeurothekError):
    """What an answer needs is not on this machine: nothing is wrong with the question."""


class MemoryRefused(NeurothekError):
    """The process gets no more memory, or no more threads."""

    def __init__(self, why: BaseException) -> None:
        super().__init__(str(memory_refused(why)))
