"""Every error that a figure can cause, each one sentence: what was asked, what was found, what to do."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError


class UnknownPicture(NeurothekError):
    """A file name whose ending names no image format that can be written."""

    def __init__(self, path: Path) -> None:
        ending = f"ends in {path.suffix}" if path.suffix else "has no ending"
        super().__init__(f"cannot tell the image format of {path}: its name {ending}; use .png or .svg")


class PictureNotWritten(NeurothekError):
    """A place where no picture can be written."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"cannot write the figure {path}: {problem}; choose a writable place")


class NoProfile(NeurothekError):
    """A neuron whose positions were not measured."""

    def __init__(self, address: str, corpus: str | None, on: Sequence[str]) -> None:
        model = address.partition("/")[0]
        where = "on any text" if corpus is None else f"on {corpus}"
        again = command_line("ingest", model, "--job", "positions", *on)
        super().__init__(
            f"there is no position profile of {address}: the job positions was not measured {where};"
            f" measure it with `{again}`"
        )


class NothingToCompare(NeurothekError):
    """Models of which no figure can be drawn."""

    def __init__(self) -> None:
        super().__init__(
            "no figure can be drawn: none of these models was measured on text; measure one of them with"
            f" `{command_line('ingest', 'MODEL')}`"
        )
