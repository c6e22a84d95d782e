"""Rows of views for given models, and what stands beside neurons that were found."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from neurothek.queries.ask.statements import frame_of
from neurothek.queries.names.models import KnownModel
from neurothek.queries.names.words import texts_of
from neurothek.queries.views.install import view
from neurothek.queries.views.labels import activity
from neurothek.queries.views.rows import FirstRows, Neuron, at_rows, first_rows, lines_of

FACTS_AT_ROWS = """\
-- What a table shows about neurons that were found, read at the rows where they lie.
select
    facts.model_id,
    facts.layer,
    facts.neuron,
    facts.corpus_id,
    corpora.name as corpus,
    facts.n_active,
    facts.n_positions,
    facts.activation_min,
    facts.activation_max,
from (
    select set_id as model_id, layer, neuron, corpus_id, n_active, n_positions, activation_min, activation_max,
    from store.neuron_facts
    where rowid in (select unnest($rows::bigint[]))
) as facts
left join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
"""

_PROMOTED_AT_ROWS = """\
-- The first tokens that some neurons promote, read at the rows where they lie.
-- Ids are read a few rows at a time in a seventh of the time that the texts of neuron_facts take.
select set_id as model_id, layer, neuron, 'promoted' as side, top_token_ids[1:10] as token_ids,
from store.projections
where rowid in (select unnest($rows::bigint[]))
"""

SUPPRESSED_AT_ROWS = """\
-- The first tokens that some neurons suppress, read at the rows where they lie.
select set_id as model_id, layer, neuron, 'suppressed' as side, bottom_token_ids[1:10] as token_ids,
from store.projections
where rowid in (select unnest($rows::bigint[]))
"""

_AT_ROWS = {"promoted": _PROMOTED_AT_ROWS, "suppressed": SUPPRESSED_AT_ROWS}


def with_neuron_facts(
    connection: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]], models: Sequence[KnownModel]
) -> list[dict[str, Any]]:
    """The rows of neurons with more columns; those of neurons that the warehouse says nothing of are left out.

    Beside what they hold they get `address`, `depth`, `corpus_id`, `corpus`, `frequency`, `never_active`,
    `n_tokens_seen`, `activation_min`, `activation_max` as in the view `neurons`, and `first_tokens`: the texts of the
    first ten tokens of their side.

    Args:
        connection: a reader.
        rows: model_id, layer, neuron and side of each neuron; `listed_side` too, where another list is meant.
        models: theirs, or more.
    """
    if not rows:
        return []
    by_id = {model.model_id: model for model in models}
    neurons = [_neuron(row) for row in rows]
    lines = lines_of(connection, neurons)
    if lines is not None:
        facts = lines
        sides = {"promoted": "top_tokens", "suppressed": "bottom_tokens"}
        tokens = {
            neuron: lines[neuron][sides[_listed_side(row)]] or [] for row, neuron in zip(rows, neurons, strict=True)
        }
    else:
        firsts = first_rows(connection)
        facts = at_rows(connection, FACTS_AT_ROWS, "neuron_facts", neurons, firsts)
        tokens = _first_tokens(connection, rows, by_id, firsts)
    return [
        {**row, **_facts(facts[neuron], by_id[neuron[0]]), "first_tokens": tokens.get(neuron, [])}
        for row, neuron in zip(rows, neurons, strict=True)
        if neuron in facts
    ]


def _facts(row: Mapping[str, Any], model: KnownModel) -> dict[str, Any]:
    return {
        "address": f"{model.name}/L{row['layer']}N{row['neuron']}",
        "depth": (row["layer"] + 0.5) / model.n_layers,
        "corpus_id": row["corpus_id"],
        "corpus": row["corpus"],
        "activation_min": row["activation_min"],
        "activation_max": row["activation_max"],
        **activity(row),
    }


def _first_tokens(
    connection: duckdb.DuckDBPyConnection,
    rows: Sequence[Mapping[str, Any]],
    models: Mapping[int, KnownModel],
    firsts: FirstRows,
) -> dict[Neuron, list[str]]:
    of_side = {side: [_neuron(row) for row in rows if _listed_side(row) == side] for side in _AT_ROWS}
    ids: dict[Neuron, list[int]] = {}
    for side, query in _AT_ROWS.items():
        neurons = of_side[side]
        if neurons:
            lists = at_rows(connection, query, "projections", neurons, firsts)
            ids |= {neuron: row["token_ids"] for neuron, row in lists.items()}
    texts = {
        tokenizer_id: texts_of(
            connection,
            tokenizer_id,
            [one for neuron, listed in ids.items() if models[neuron[0]].tokenizer_id == tokenizer_id for one in listed],
        )
        for tokenizer_id in {models[neuron[0]].tokenizer_id for neuron in ids}
    }
    tokens = {}
    for neuron, listed in ids.items():
        texts_there = texts[models[neuron[0]].tokenizer_id]
        tokens[neuron] = [texts_there[one] for one in listed if one in texts_there]
    return tokens


def _listed_side(row: Mapping[str, Any]) -> str:
    return str(row.get("listed_side", row["side"]))


def _neuron(row: Mapping[str, Any]) -> Neuron:
    return (row["model_id"], row["layer"], row["neuron"])


SMALLEST_FIRST = (
    "size",
    # Plain sizes before their variants, steps in the order of training.
    r"regexp_extract(variant, '^\D+') nulls first",
    r"try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first",
    "model",
)
"""How models stand side by side, as `neurothek.queries.names.models` orders them."""


def of_models(
    name: str,
    order: Sequence[str],
    *,
    columns: Sequence[str] = (),
    without: Collection[str] = (),
    where: str = "",
    first: Sequence[str] = (),
) -> str:
    """The statement that yields a view's rows of the models `$models`.

    Args:
        name: of the view, which has a column `model`.
        order: expressions over its columns.
        columns: expressions over its columns, of which the rows consist; none: all columns.
        without: columns to leave out.
        where: a condition beside that of the models.
        first: columns that stand before the others.
    """
    held = view(name).columns
    if without or first:
        columns = [*first, *(column for column in held if column not in {*without, *first})]
    return (
        f"select {', '.join(columns) or '*'},\n"
        f"from {name}\n"
        f"where list_contains($models::varchar[], model){f' and {where}' if where else ''}\n"
        f"order by {', '.join(order)}"
    )


def rows_of_models(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    models: Sequence[str],
    *then: str,
    order: Sequence[str] = SMALLEST_FIRST,
    without: Collection[str] = (),
) -> pl.DataFrame:
    """A view's rows of the models, in the order of these and `then` by further expressions; see `of_models`."""
    return frame_of(connection, of_models(name, (*order, *then), without=without), {"models": list(models)})
