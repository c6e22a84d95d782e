"""What can go wrong with a dataset of the hub; each class builds its one sentence."""

from collections.abc import Sequence

from catalog.errors import NeurothekError

_FORM = "NAME=hub:ORG/DATASET[@REVISION][:CONFIG][:SPLIT][:COLUMN]"


class DatasetMisnamed(NeurothekError):
    """A location that begins with hub: and goes on otherwise than it should."""

    def __init__(self, location: str) -> None:
        super().__init__(f"the dataset {location!r} is not understood: write {_FORM}")


class DatasetsMissing(NeurothekError):
    """A dataset of the hub, and no library to read it with."""

    def __init__(self, location: str) -> None:
        super().__init__(
            f"the text {location} is read with the library datasets, which is not installed:"
            " install it with pip install 'neurothek[hub]'"
        )


class DatasetUnreachable(NeurothekError):
    """A dataset while the hub cannot be asked."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(
            f"the text {location} lies on the hub, which cannot be asked ({reason}); go online, give files, or name a"
            " corpus of the warehouse"
        )


class DatasetNotOnHub(NeurothekError):
    """A dataset that the hub does not show to this person."""

    def __init__(self, location: str, problem: str) -> None:
        super().__init__(
            f"the hub does not give out the text {location}: {problem};"
            " check the spelling, or set HF_TOKEN if the dataset is private or gated"
        )


class DatasetColumnUnknown(NeurothekError):
    """A column that a dataset does not have, or that is no text."""

    def __init__(self, location: str, column: str, columns: Sequence[str]) -> None:
        found = ", ".join(columns) or "none"
        super().__init__(
            f"the column {column!r} of {location} was asked for, but its columns of text are {found}: write {_FORM}"
        )


class DatasetEmpty(NeurothekError):
    """A dataset without a document."""

    def __init__(self, location: str) -> None:
        super().__init__(f"the text {location} holds no document: give a split and a column with text in it")


class DatasetBroken(NeurothekError):
    """A dataset that the library cannot read, or not to the end."""

    def __init__(self, location: str, problem: str) -> None:
        super().__init__(
            f"the text {location} could not be read ({problem}); check configuration and split, or repeat the command"
        )
