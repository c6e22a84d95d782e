"""Conditions of a question that make no sense, or that nothing was measured for."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.spelling import visible
from neurothek.catalog.suggestions import enumerated

_LONGEST = 60


class BadLayers(NeurothekError):
    """A range of layers that is none."""

    def __init__(self, text: str) -> None:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        super().__init__(f"{shown!r} is not a range of layers; write one layer as 3, or several as 3-5")


class BadDepth(NeurothekError):
    """A range of depths that is none."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is not a range of depths; write one between 0 and 1, such as 0.5-1")


class NoLayersLeft(NeurothekError):
    """Layers and depths that no model has."""

    def __init__(self) -> None:
        super().__init__("no selected model has a layer in that range of layers and depths; widen the range")


class NotMeasured(NeurothekError):
    """A question about measurements that no model asked about has."""

    def __init__(self, what: str, job: str) -> None:
        command = command_line("ingest", "MODEL", "--job", job)
        super().__init__(f"{what} of no model asked about; measure them with `{command}`")


class PhraseTooLong(NeurothekError):
    """A phrase of more tokens than the n-grams that were counted."""

    def __init__(self, phrase: str, pieces: Sequence[str], longest: int) -> None:
        super().__init__(
            f"{phrase!r} is {len(pieces)} tokens ({' '.join(map(visible, pieces))}), but only n-grams of at most"
            f" {longest} were counted; use a shorter phrase"
        )


class OtherTokenizer(NeurothekError):
    """Models whose tokens cannot be compared."""

    def __init__(self, asked: str, others: Sequence[str]) -> None:
        super().__init__(
            f"{enumerated(others)} and {asked} have different tokenizers, so their lists cannot be compared; choose"
            f" models with the same tokenizer (see `{command_line('models', '--format', 'json')}`)"
        )


class NotAskedHere(NeurothekError):
    """Conditions that an answer of this kind would not follow."""

    def __init__(self, conditions: Sequence[str], kind: str, honoured: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(conditions)} cannot be used with {kind}, only {', '.join(honoured)}; omit the others"
        )


class NoConcept(NeurothekError):
    """Something is said of the words that a concept is widened with, but no concept is asked for."""

    def __init__(self, conditions: Sequence[str]) -> None:
        said = f"{' and '.join(conditions)} {'requires' if len(conditions) == 1 else 'require'}"
        super().__init__(f"{said} a concept search; add --concept (concept=True)")


class NoSuchLayer(NeurothekError):
    """Layers beyond every model asked about."""

    def __init__(self, first: int, deepest: int) -> None:
        super().__init__(
            f"there is no layer {first}: the deepest of the selected models has layers 0 to {deepest};"
            " choose layers in this range"
        )


class BadPredicate(NeurothekError):
    """A condition on neurons that is not one expression, or may take any amount of memory."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(
            f"the condition {text!r} {problem}; write one expression over the columns of neurons, "
            'for example "frequency < 0.01 and layer > 3"'
        )


class NeuronOfOther(NeurothekError):
    """An address among those of one model is that of another."""

    def __init__(self, address: str, model: str) -> None:
        super().__init__(f"{address} is not a neuron of {model}; name neurons of this model only")


class NothingChosen(NeurothekError):
    """A query that was to choose neurons of a model finds none."""

    def __init__(self, model: str, asked: str, why: str = "") -> None:
        command = command_line("sql", f"from neurons where model = '{model}'")
        said = f" ({why})" if why else ""
        super().__init__(f"{model} has no neurons {asked}{said}; try the condition first, beginning with `{command}`")
