"""What can be wrong with a training run."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.errors import NeurothekError


class SizeUnknown(NeurothekError):
    """A model size that is not in the table."""

    def __init__(self, size: str, sizes: Sequence[str]) -> None:
        super().__init__(f"there is no model size {size!r}; choose one of {', '.join(sizes)}")


class ArchitecturesCombined(NeurothekError):
    """Two changes of the architecture at once, for which there is no variant."""

    def __init__(self) -> None:
        super().__init__(
            "a model without positions and with norms after the blocks is no known variant;"
            " choose --no-positions or --post-norm"
        )


class OutputExists(NeurothekError):
    """A training output that would overwrite something."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(
            f"cannot write the model to {folder}, which {problem}: choose another folder or remove this one"
        )


class VocabularyTooLarge(NeurothekError):
    """A vocabulary that the training text cannot fill."""

    def __init__(self, asked: int, found: int) -> None:
        super().__init__(
            f"the text supports a vocabulary of only {found} tokens, not {asked}:"
            " give more text or a smaller --vocabulary"
        )


class VocabularyTooSmall(NeurothekError):
    """A vocabulary without room for the bytes."""

    def __init__(self, asked: int, needed: int) -> None:
        super().__init__(f"a vocabulary of {asked} tokens is too small; bytes and special tokens alone need {needed}")


class TooLittleText(NeurothekError):
    """A corpus that does not fill one batch of training."""

    def __init__(self, found: int, needed: int) -> None:
        super().__init__(f"training needs at least {needed} sequences, but the text gives {found}: give more text")


class StepsInvalid(NeurothekError):
    """Steps or checkpoints that no run can have."""

    def __init__(self, asked: str) -> None:
        super().__init__(
            f"{asked} is not possible; training needs at least 1 step, and checkpoints must come before the last step"
        )


class TokenizerUnfit(NeurothekError):
    """A tokenizer to be reused that these models cannot be trained with."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(f"cannot reuse the tokenizer of {folder}: {problem}; omit --tokenizer to train a new one")
