"""Errors of questions about what is not there: models, corpora, columns, neurons, matrices."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NotFound, NotMeasured
from neurothek.catalog.spelling import named
from neurothek.catalog.suggestions import enumerated, hint, nearest

RELATION = "view or table"
"""What an unknown relation is called in its error."""


def no_models() -> NotMeasured:
    """The warehouse holds nothing to ask about."""
    return NotMeasured(
        "the warehouse has no models yet", f"measure one with `{command_line('ingest', 'MODEL')}`", jobs=[]
    )


def unknown_corpus(name: str, known: Sequence[str]) -> NotFound:
    """The models asked about were not measured on the corpus."""
    return NotFound(
        f"none of the selected models was measured on a corpus {named(name)}",
        hint(name, known),
        what="corpus",
        name=name,
        known=known,
    )


def no_shortcuts(model: str, corpus: str | None, measured: Sequence[str], on: Sequence[str] = ()) -> NotMeasured:
    """A model's linear shortcuts were not measured, or not on the corpus."""
    where = f" on {corpus}" if corpus and measured else ""
    command = command_line("ingest", model, "--job", "shortcuts", *on)
    instead = f"they were measured on {', '.join(measured)}: name that corpus, or measure" if measured else "measure"
    return NotMeasured(
        f"no shortcut of {model} is kept{where}",
        f"{instead} them with `{command}`",
        jobs=["shortcuts"],
        models=[model],
        corpus=corpus,
    )


def unknown_relation(name: str, known: Sequence[str]) -> NotFound:
    """No view and no table has the name."""
    return NotFound(
        f"there is no {RELATION} {name}",
        f"{hint(name, known)} (see `{command_line('schema')}`)",
        what=RELATION,
        name=name,
        known=known,
    )


def unknown_column(
    name: str, known: Sequence[str], *, relation: str | None = None, instead: str | None = None
) -> NotFound:
    """No column has the name."""
    where = f" in {relation}" if relation else ""
    return NotFound(
        f"there is no column {name}{where}",
        instead or hint(name.rpartition(".")[2], known),
        what="column",
        name=name,
        known=known,
    )


def unknown_column_among(name: str, likeliest: Sequence[str], everywhere: Sequence[str]) -> NotFound:
    """No column has the name, where only the likeliest columns are known, if any, and the names of all relations'."""
    others = [one for one in everywhere if one.casefold() != name.casefold()]
    near = nearest(name, likeliest) or list(likeliest) or nearest(name, others)
    instead = f"nearest: {enumerated(near)}" if near else f"`{command_line('schema', 'VIEW')}` lists those of a view"
    return unknown_column(name, near, instead=instead)


def invalid_address(address: str) -> Invalid:
    """A text that is no address of a neuron."""
    return Invalid(
        f"{address!r} is not the address of a neuron",
        "give model, layer and neuron as in opt-125m/L3N1702",
        option="address",
        value=address,
    )


def unknown_neuron(address: str, n_layers: int, d_ffn: int) -> NotFound:
    """An address beyond the model."""
    return NotFound(
        f"there is no neuron {address}: the model has layers 0 to {n_layers - 1} and neurons 0 to {d_ffn - 1} in each",
        "choose an address in this range",
        what="neuron",
        name=address,
    )
