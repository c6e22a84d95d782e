"""What can be wrong with a pair of models that is to be compared."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.suggestions import nearest


class PairsApart(NeurothekError):
    """Counterparts were asked for among jobs that measure one model."""

    def __init__(self, others: Sequence[str]) -> None:
        super().__init__(
            f"the job counterparts cannot run together with {', '.join(others)}, because it compares models that are"
            " already in the warehouse; run it in a separate command, after the other jobs"
        )


class PairIncomplete(NeurothekError):
    """Counterparts were asked for of one model."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"counterparts are found between two models, but only {model} was named;"
            " name another model with the same tokenizer"
        )


class PairOfOne(NeurothekError):
    """A model was to be compared with itself."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"cannot find counterparts between {model} and itself; name each model once"
            f" (`{command_line('search', '--like', f'{model}/L0N0')}` finds similar neurons within one model)"
        )


class PairUnknown(NeurothekError):
    """The warehouse does not have a model that was named."""

    def __init__(self, model: str, known: Sequence[str], asked: str) -> None:
        near = nearest(model, known)
        hint = (
            f"; did you mean {', '.join(near)}?"
            if near
            else f", which has {', '.join(known) or 'no model yet'}:"
            f" measure a new one first, with `{command_line('ingest', asked)}`"
        )
        super().__init__(f"cannot find counterparts of {model}: there is no such model in the warehouse{hint}")


class ListsMissing(NeurothekError):
    """A model without the lists of tokens that neurons are compared by."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"cannot find counterparts of {model}: its token lists are not in the warehouse;"
            f" measure them with `{command_line('ingest', model, '--job', 'projections')}`"
        )


class PairTokenizers(NeurothekError):
    """Two models whose tokens are not the same."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(
            f"{one} and {other} have different tokenizers, so their token lists cannot be compared;"
            " name models with the same tokenizer"
        )
