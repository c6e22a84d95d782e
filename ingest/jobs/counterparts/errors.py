"""What can be wrong with a pair of models that is to be compared."""

from collections.abc import Sequence
from difflib import get_close_matches

from catalog.advice import command_line
from catalog.errors import NeurothekError


class PairsApart(NeurothekError):
    """Counterparts were asked for among jobs that measure one model."""

    def __init__(self, others: Sequence[str]) -> None:
        super().__init__(
            f"the job counterparts was asked for together with {', '.join(others)}, but it compares models that are in"
            " the warehouse already; give it a command of its own, after the other jobs"
        )


class PairIncomplete(NeurothekError):
    """Counterparts were asked for of one model."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"counterparts were asked for of {model} alone, but they are found between two models;"
            " name another model of the same tokenizer"
        )


class PairOfOne(NeurothekError):
    """A model was to be compared with itself."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"counterparts were asked for between {model} and itself; name every model once"
            f" (`{command_line('search', '--like', f'{model}/L0N0')}` finds neurons alike within one model)"
        )


class PairUnknown(NeurothekError):
    """The warehouse does not have a model that was named."""

    def __init__(self, model: str, known: Sequence[str], asked: str) -> None:
        near = get_close_matches(model, known, n=3, cutoff=0.5)
        hint = (
            f"; did you mean {', '.join(near)}?"
            if near
            else f", which has {', '.join(known) or 'no model yet'}:"
            f" measure a new one first, with `{command_line('ingest', asked)}`"
        )
        super().__init__(f"counterparts were asked for of {model}, but there is no such model in the warehouse{hint}")


class ListsMissing(NeurothekError):
    """A model without the lists of tokens that neurons are compared by."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"counterparts of {model} cannot be found, since its lists of tokens are not in the warehouse;"
            f" measure them with `{command_line('ingest', model, '--job', 'projections')}`"
        )


class PairTokenizers(NeurothekError):
    """Two models whose tokens are not the same."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(
            f"{one} and {other} have different tokenizers, so that their lists of tokens cannot be compared;"
            " counterparts are found between models of one tokenizer"
        )
