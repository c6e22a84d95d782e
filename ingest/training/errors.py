"""What can be wrong with a training."""

from collections.abc import Sequence
from pathlib import Path

from catalog.errors import NeurothekError


class SizeUnknown(NeurothekError):
    """A model size that is not in the table."""

    def __init__(self, size: str, sizes: Sequence[str]) -> None:
        super().__init__(
            f"a model of size {size!r} was asked for, but the sizes are {', '.join(sizes)}: choose one of them"
        )


class OutputExists(NeurothekError):
    """A training output that would overwrite something."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(
            f"the model was to be written to {folder}, which {problem}: name another folder or remove this one"
        )


class VocabularyTooLarge(NeurothekError):
    """A vocabulary that the training text cannot fill."""

    def __init__(self, asked: int, found: int) -> None:
        super().__init__(
            f"a vocabulary of {asked} tokens was asked for, but the text supports only {found}:"
            " give more text or ask for fewer"
        )


class VocabularyTooSmall(NeurothekError):
    """A vocabulary without room for the bytes."""

    def __init__(self, asked: int, needed: int) -> None:
        super().__init__(
            f"a vocabulary of {asked} tokens was asked for, but bytes and special tokens need {needed}: ask for more"
        )


class TooLittleText(NeurothekError):
    """A corpus that does not fill one batch of training."""

    def __init__(self, found: int, needed: int) -> None:
        super().__init__(f"training needs at least {needed} sequences, but the text gives {found}: give more text")


class StepsInvalid(NeurothekError):
    """Steps or checkpoints that no run can have."""

    def __init__(self, asked: str) -> None:
        super().__init__(
            f"{asked} was asked for, but training needs at least 1 step, and checkpoints before the last step:"
            " change it"
        )


class TokenizerUnfit(NeurothekError):
    """A tokenizer to be reused that these models cannot be trained with."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(
            f"the tokenizer of {folder} was to be reused, but {problem}: leave --tokenizer out to have one trained"
        )
