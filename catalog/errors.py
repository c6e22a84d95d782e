"""The one base of every error a person can cause, so that the edges know which ones to print as a sentence."""


class NeurothekError(Exception):
    """A handled user error: its text says what was asked, what was found and what to do."""


class NotHere(NeurothekError):
    """What an answer needs is not on this machine: nothing is wrong with the question."""


class MemoryRefused(NeurothekError):
    """The process gets no more memory, or no more threads."""

    def __init__(self, why: BaseException) -> None:
        said = " ".join(str(why).split())
        super().__init__(
            f"there is not enough memory{f' ({said[:120]})' if said else ''};"
            " close other programs or raise this process's limit (`ulimit -v`), then repeat the command"
        )


class NeurothekWarning(UserWarning):
    """What an answer cannot say about itself, in one sentence."""
