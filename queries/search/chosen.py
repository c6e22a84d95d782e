"""The neurons of one model that a query finds, for whoever does something with them."""

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

import duckdb

from neurothek.catalog.problems import NotFound
from neurothek.queries.ask.statements import ask_records, records
from neurothek.queries.errors.unfit_options import neuron_of_another, nothing_chosen
from neurothek.queries.errors.unknown_subjects import unknown_word
from neurothek.queries.names.models import KnownModel, choose_model, find_neuron
from neurothek.queries.names.words import find_terms, nearest_words
from neurothek.queries.search.by_score import OpenWeights
from neurothek.queries.search.by_word import search
from neurothek.queries.search.condition import condition_notes, filtered_records
from neurothek.queries.search.question import Question

_NEURONS_WHERE = """\
-- The neurons of a model that a person's condition keeps.
select layer, neuron,
from neurons
where model = $model and (/* the conditions on neurons */ true)
order by layer, neuron
"""

_CONTRASTS = """\
-- Names of the contrasts that the warehouse keeps of a model.
select contrast,
from contrasts_summary
where model = $model
order by contrast
"""

_NEURONS_OF_CONTRAST = """\
-- The neurons that tell the prompts of a contrast apart most, but for those that are always on.
select layer, neuron,
from contrasts
where model = $model and contrast = $contrast and is_significant and not coalesce(is_always_on, false)
order by abs(z) desc, layer, neuron
limit $top
"""

Neurons = tuple[tuple[int, int], ...]
"""Layer and neuron of each, in ascending order, none twice."""

Poles = Mapping[tuple[int, int], str | None]
"""Neurons that promote words -> the pole at which they do, in a gated model; None in others."""


def neurons_asked(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    *,
    where: str | None = None,
    words: Sequence[str] = (),
    limit: int = 10,
    addresses: Sequence[str] | None = None,
    contrast: str | None = None,
    top: int = 50,
    weights: OpenWeights | None = None,
) -> tuple[dict[str, Neurons], Poles]:
    """What was asked in words -> its neurons, of the one way that is given or of every kind if none is; their poles."""
    if where is not None:
        return {f"where {where}": neurons_where(connection, model, where)}, {}
    if words:
        poles = neurons_found(connection, model, words, limit=limit, weights=weights)
        return {f"promote {', '.join(words)}": tuple(poles)}, poles
    if addresses is not None:
        return {"named": neurons_named(connection, model, addresses)}, {}
    if contrast is not None:
        return {f"contrast {contrast}, first {top}": neurons_of_contrast(connection, model, contrast, top=top)}, {}
    return neurons_of_kinds(connection, model), {}


def watched_tokens(
    connection: duckdb.DuckDBPyConnection, model: str, words: Sequence[str], *, leaves_split_out: bool = False
) -> tuple[int, ...]:
    """Ids of the tokens that words stand for in a model's vocabulary.

    Args:
        connection: a reader.
        model: name of the model.
        words: the words.
        leaves_split_out: whether a word that is no token is left out instead of refused.
    """
    tokenizer_id = choose_model(connection, model).tokenizer_id
    terms = find_terms(connection, words, [tokenizer_id], exact=False)
    for term in terms:
        if term.is_split and not leaves_split_out:
            raise unknown_word(term.word, nearest_words(connection, term.word, [tokenizer_id]))
    whole = [term for term in terms if not term.is_split]
    return tuple(sorted({token.token_id for term in whole for token in term.parts[0]}))


def neurons_where(connection: duckdb.DuckDBPyConnection, model: str, where: str) -> Neurons:
    """Those that a condition over the columns of the view `neurons` keeps."""
    model_row = choose_model(connection, model)
    question = Question(words=(), where=where)
    rows = filtered_records(connection, _NEURONS_WHERE, question, {"model": model})
    neurons = [(row["layer"], row["neuron"]) for row in rows]
    return _nonempty(model, f"where {where}", neurons, "; ".join(condition_notes(where, [model_row])))


def neurons_found(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    words: Sequence[str],
    *,
    limit: int,
    weights: OpenWeights | None = None,
) -> Poles:
    """The first `limit` that a search for words finds: those that promote them most, in ascending order."""
    neurons = search(connection, Question(words=tuple(words), models=(model,), limit=limit), weights).neurons
    description = f"the first {limit} that promote {', '.join(words)}"
    poles = {(layer, neuron): pole for layer, neuron, pole in neurons.select("layer", "neuron", "pole").iter_rows()}
    return {one: poles[one] for one in _nonempty(model, description, list(poles))}


def neurons_named(connection: duckdb.DuckDBPyConnection, model: str, addresses: Sequence[str]) -> Neurons:
    """Those at some addresses, which are of the model."""
    choose_model(connection, model)
    named = [find_neuron(connection, address) for address in addresses]
    for address in named:
        if address.model != model:
            raise neuron_of_another(str(address), model)
    return _nonempty(model, "named", [(one.layer, one.neuron) for one in named])


def neurons_of_contrast(connection: duckdb.DuckDBPyConnection, model: str, contrast: str, *, top: int) -> Neurons:
    """Those of a contrast with the largest z, if its q says so; none that is always on, whatever the prompt."""
    choose_model(connection, model)
    names = [row["contrast"] for row in records(connection, _CONTRASTS, {"model": model})]
    if contrast not in names:
        raise NotFound.among("contrast", contrast, names, where=f"of {model}")
    rows = records(connection, _NEURONS_OF_CONTRAST, {"model": model, "contrast": contrast, "top": top})
    if not rows:
        raise NotFound(
            f"no neuron of {model} tells the prompts of the contrast {contrast} apart, but for those that are always"
            " on",
            "contrast more prompts, or others",
            what="neurons",
            name=contrast,
        )
    return tuple(sorted((row["layer"], row["neuron"]) for row in rows))


def neurons_of_kinds(connection: duckdb.DuckDBPyConnection, model: str) -> dict[str, Neurons]:
    """Those of each kind that the model has any of, as its shown corpus labels them; one may be of several kinds.

    dead (of models without exact zeros negligible), token detectors, n-gram detectors (of two or three tokens) and
    positional are what the views call so; dominant is the hundredth of the neurons that were dominant in most examples.
    """
    model_row = choose_model(connection, model)
    rows = ask_records(connection, "neurons_of_kinds", {"model": model})
    kinds = {
        str(kind): tuple((int(row["layer"]), int(row["neuron"])) for row in group)
        for kind, group in groupby(rows, key=lambda row: row["kind"])
    }
    if not kinds:
        raise nothing_chosen(model, "of any kind", "; ".join(notes_on_kinds(model_row, kinds)))
    return kinds


def notes_on_kinds(model: KnownModel, kinds: Collection[str]) -> list[str]:
    """What stands in the place of dead neurons where no coefficient is exactly 0: a sentence, or none."""
    if model.has_exact_zeros:
        return []
    lacking = "" if "negligible" in kinds else ", of which none is known (the job poles measures contributions)"
    return [f"no neuron of {model.name} is ever exactly 0, so none is dead: negligible ones take their place{lacking}"]


def _nonempty(model: str, description: str, neurons: Sequence[tuple[int, int]], why: str = "") -> Neurons:
    if not neurons:
        raise nothing_chosen(model, description, why)
    return tuple(sorted({(int(layer), int(neuron)) for layer, neuron in neurons}))
