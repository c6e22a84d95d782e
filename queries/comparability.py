"""Whether models may be compared: by text, sequence length, activation rule and number format; as the view scaling."""

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_TOKEN_RATIO = 0.5
"""A model that saw less than this share of the reference's tokens of the same text is not comparable [ours]."""


@dataclass(frozen=True)
class Way:
    """How one model was measured."""

    model: str
    corpus: str
    text_sha256: str
    sequence_length: int
    activation_rule: str
    dtype: str
    n_tokens: int

    @property
    def convention(self) -> tuple[str, int, str, str]:
        """What must be the same."""
        return self.text_sha256, self.sequence_length, self.activation_rule, self.dtype


def why_not_comparable(ways: Sequence[Way]) -> dict[str, str | None]:
    """For each model why it may not be compared with the reference, or None.

    The reference is the convention that most of the models share, ties by most tokens [DEFINITIONS, Comparing sizes].
    """
    if not ways:
        return {}
    by_convention: dict[tuple[str, int, str, str], list[Way]] = {}
    for way in ways:
        by_convention.setdefault(way.convention, []).append(way)
    reference = min(by_convention.values(), key=_preference)
    most = max(way.n_tokens for way in reference)
    return {way.model: "; ".join(_reasons(way, reference[0], most)) or None for way in ways}


def _preference(ways: Sequence[Way]) -> tuple[int, int, int, str, str, str]:
    one = ways[0]
    n_tokens = max(way.n_tokens for way in ways)
    return -len(ways), -n_tokens, -one.sequence_length, one.activation_rule, one.dtype, one.text_sha256


def _reasons(way: Way, reference: Way, most: int) -> list[str]:
    same_text = way.text_sha256 == reference.text_sha256
    told = {
        "another text": same_text,
        f"sequences of {way.sequence_length} ids instead of {reference.sequence_length}": (
            way.sequence_length == reference.sequence_length
        ),
        f"active means {way.activation_rule} instead of {reference.activation_rule}": (
            way.activation_rule == reference.activation_rule
        ),
        f"computed in {way.dtype} instead of {reference.dtype}": way.dtype == reference.dtype,
        f"{way.n_tokens} tokens of the text instead of {most}": (
            not same_text or way.n_tokens >= LEAST_TOKEN_RATIO * most
        ),
    }
    return [reason for reason, holds in told.items() if not holds]
