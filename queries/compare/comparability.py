"""Whether models may be compared: by how they were measured, and by what tells them apart, as in the view scaling."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_TOKEN_RATIO = 0.5
"""A model that saw less than this share of the reference's tokens of the same text is not comparable [ours]."""


@dataclass(frozen=True)
class MeasurementSetup:
    """One model and the setup in which it was measured."""

    model: str  # its name
    family: str  # models of one family differ in size or variant only
    size: int  # parameters without embeddings
    variant: str | None  # what sets it apart from the plain one of its size; None for a plain size
    corpus: str  # name of the text
    text_sha256: str  # hash of the text
    sequence_length: int  # ids that a sequence holds at most
    activation_rule: str  # when a neuron counted as active
    counting_rule: str | None  # when n-grams and positions counted an activation; None: they were not measured
    dtype: str  # number format that the model computed in
    n_tokens: int  # counted positions

    @property
    def convention(self) -> tuple[str, int, str, str]:
        """What must be the same."""
        return self.text_sha256, self.sequence_length, self.activation_rule, self.dtype

    @property
    def kind(self) -> tuple[str, int, str | None]:
        """What differs between any two models that can be told apart."""
        return self.family, self.size, self.variant


def why_not_comparable(setups: Sequence[MeasurementSetup]) -> dict[str, str | None]:
    """For each model why it may not be compared with the reference, or None.

    The reference is the convention that most of the models share, ties by most tokens [DEFINITIONS, Comparing sizes].
    N-grams, detectors and positions may count by another rule than activity: that of most reference models which saw
    enough tokens is the reference's [ours].
    Two models of one family and size that no variant tells apart cannot be compared.
    """
    if not setups:
        return {}
    by_convention: dict[tuple[str, int, str, str], list[MeasurementSetup]] = {}
    for setup in setups:
        by_convention.setdefault(setup.convention, []).append(setup)
    reference = min(by_convention.values(), key=_preference)
    most = max(setup.n_tokens for setup in reference)
    enough = [setup for setup in reference if setup.n_tokens >= LEAST_TOKEN_RATIO * most]
    rules = Counter(setup.counting_rule for setup in enough if setup.counting_rule is not None)
    counting_rule = min(rules, key=lambda rule: (-rules[rule], rule), default=None)
    twins = {setup.model: _twins(setup, setups) for setup in setups}
    return {
        one.model: "; ".join([*_reasons(one, reference[0], most, counting_rule), *twins[one.model]]) or None
        for one in setups
    }


def _twins(setup: MeasurementSetup, setups: Sequence[MeasurementSetup]) -> list[str]:
    """Why it cannot be told from others: the first or the last of these by name is named."""
    alike = sorted(other.model for other in setups if other.kind == setup.kind)
    if len(alike) == 1:
        return []
    twin = alike[-1] if setup.model == alike[0] else alike[0]
    # In the words of the view `scaling`.
    reason = "is of the same family and size, and no variant tells them apart (set one with neurothek label)"
    return [f"{twin} {reason}"]


def _preference(setups: Sequence[MeasurementSetup]) -> tuple[int, int, int, str, str, str]:
    one = setups[0]
    n_tokens = max(setup.n_tokens for setup in setups)
    return -len(setups), -n_tokens, -one.sequence_length, one.activation_rule, one.dtype, one.text_sha256


def _reasons(setup: MeasurementSetup, reference: MeasurementSetup, most: int, counting_rule: str | None) -> list[str]:
    same_text = setup.text_sha256 == reference.text_sha256
    conditions = {
        "another text": same_text,
        f"sequences of {setup.sequence_length} ids instead of {reference.sequence_length}": (
            setup.sequence_length == reference.sequence_length
        ),
        f"active means {setup.activation_rule} instead of {reference.activation_rule}": (
            setup.activation_rule == reference.activation_rule
        ),
        f"n-grams and positions count {setup.counting_rule} instead of {counting_rule}": (
            setup.activation_rule != reference.activation_rule
            or None in {setup.counting_rule, counting_rule}
            or setup.counting_rule == counting_rule
        ),
        f"computed in {setup.dtype} instead of {reference.dtype}": setup.dtype == reference.dtype,
        f"{setup.n_tokens} tokens of the text instead of {most}": (
            not same_text or setup.n_tokens >= LEAST_TOKEN_RATIO * most
        ),
    }
    return [reason for reason, holds in conditions.items() if not holds]
