"""Errors of conditions that make no sense, or that nothing was measured for."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NotFound, NotMeasured, Unsupported
from neurothek.catalog.spelling import visible
from neurothek.catalog.suggestions import enumerated

_LONGEST = 60


def invalid_layers(text: str) -> Invalid:
    """A range of layers that is none."""
    excerpt = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return Invalid(
        f"{excerpt!r} is not a range of layers",
        "write one layer as 3, or several as 3-5",
        option="--layers",
        value=text,
    )


def invalid_depths(text: str) -> Invalid:
    """A range of depths that is none."""
    return Invalid(
        f"{text!r} is not a range of depths",
        "write one between 0 and 1, such as 0.5-1",
        option="--depth",
        value=text,
    )


def no_layers_left() -> NotFound:
    """Layers and depths that no model has."""
    return NotFound(
        "no selected model has a layer in that range of layers and depths", "widen the range", what="layer", name=None
    )


def not_measured(what: str, job: str, *, model: str | None = None) -> NotMeasured:
    """A question about measurements that no selected model has.

    Args:
        what: the results that are missing, such as "triggers".
        job: that measures them.
        model: the one that lacks them; None: all that were selected.
    """
    command = command_line("ingest", model or "MODEL", "--job", job)
    lacks = "no selected model has" if model is None else f"{model} has no"
    return NotMeasured(
        f"{lacks} measured {what}",
        f"measure them with `{command}`",
        jobs=[job],
        models=[] if model is None else [model],
    )


def too_long_phrase(phrase: str, pieces: Sequence[str], longest: int) -> Invalid:
    """A phrase of more tokens than the n-grams that were counted."""
    return Invalid(
        f"{phrase!r} is {len(pieces)} tokens ({' '.join(map(visible, pieces))}), but only n-grams of at most"
        f" {longest} were counted",
        "use a shorter phrase",
        option="phrase",
        value=phrase,
    )


def phrases_left_out(phrase: str, pieces: Sequence[str]) -> NotMeasured:
    """A phrase of several tokens, where n-grams of one token alone are: the rest is of a text, which stayed at home."""
    ingest = command_line("ingest", "MODEL", "--job", "ngrams", "--warehouse", "FILE")
    return NotMeasured(
        f"{phrase!r} is {len(pieces)} tokens ({' '.join(map(visible, pieces))}), and no n-grams of several tokens are"
        " here: what is published without texts has those of single tokens alone",
        f"use a single token, or measure the model in a file of your own with `{ingest}`",
        jobs=["ngrams"],
        models=[],
    )


def other_tokenizers(model: str, others: Sequence[str]) -> Unsupported:
    """Models whose tokens cannot be compared."""
    return Unsupported(
        f"{enumerated(others)} and {model} have different tokenizers, so their lists cannot be compared",
        f"choose models with the same tokenizer (see `{command_line('models', '--format', 'json')}`)",
        what="tokenizers",
        name=model,
    )


def conditions_beside(conditions: Sequence[str], kind: str, honoured: Sequence[str]) -> Invalid:
    """Conditions that an answer of this kind would not follow."""
    return Invalid(
        f"{', '.join(conditions)} cannot be used with {kind}, only {', '.join(honoured)}",
        "omit the others",
        option=", ".join(conditions),
    )


def concept_needed(conditions: Sequence[str]) -> Invalid:
    """Something is said of the words that a concept is widened with, but no concept is asked for."""
    return Invalid(
        f"{' and '.join(conditions)} {'requires' if len(conditions) == 1 else 'require'} a concept search",
        "add --concept (concept=True)",
        option=", ".join(conditions),
    )


def no_such_layer(first: int, deepest: int) -> NotFound:
    """Layers beyond every model asked about."""
    return NotFound(
        f"there is no layer {first}: the deepest of the selected models has layers 0 to {deepest}",
        "choose layers in this range",
        what="layer",
        name=first,
    )


def invalid_condition(text: str, problem: str) -> Invalid:
    """A condition on neurons that is not one expression, or may take any amount of memory."""
    return Invalid(
        f"the condition {text!r} {problem}",
        'write one expression over the columns of neurons, for example "frequency < 0.01 and layer > 3"',
        option="--where",
        value=text,
    )


def neuron_of_another(address: str, model: str) -> Invalid:
    """An address among those of one model is that of another."""
    return Invalid(
        f"{address} is not a neuron of {model}", "name neurons of this model only", option="address", value=address
    )


def nothing_chosen(model: str, condition: str, why: str = "") -> NotFound:
    """A query that was to choose neurons of a model finds none."""
    command = command_line("sql", f"from neurons where model = '{model}'")
    reason = f" ({why})" if why else ""
    return NotFound(
        f"{model} has no neurons {condition}{reason}",
        f"try the condition first, beginning with `{command}`",
        what="neurons",
        name=condition,
    )
