"""How the tables of a catalog lie in their files: which rows and columns, in which order, in groups of which size.

Two readers want opposite things. The hub's viewer likes row groups of 100 to 300 MB, uncompressed; a search of one word
should fetch a hundredth of a catalog. So each has its own files: the views, which people look at, are written in large
groups; the tables, which questions are answered from, in groups of `TABLE_BYTES`, which compress to about a megabyte:
the postings sorted by token, all others by unit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from neurothek.catalog.tables.registry import BY_NAME, OWNERS

TABLE_BYTES = 8 << 20
"""Uncompressed, of a row group of a table."""

VIEW_BYTES = 128 << 20
"""Uncompressed, of a row group of a view."""

LEAST_ROWS, MOST_ROWS = 2_048, 65_536
"""Of a row group of a table."""

_UNIT_ROWS, _POSTING_ROWS = 4_096, 32_768
"""Of a row group of a table with rows of single neurons, and of one that is looked through for a token."""

MOST_VIEW_ROWS = 1 << 20
"""Of a row group of a view."""

PART_BYTES = 3 << 19
"""Compressed, of what is fetched at once, unless one column of a group is longer."""

_SORTED: Mapping[str, Sequence[str]] = {
    "postings": ("token_id", "set_id", "side", "rank", "layer", "neuron"),
    "key_postings": ("token_id", "set_id", "reader", "pole", "rank", "layer", "neuron"),
    "token_counts": ("corpus_id", "token_id", "domain"),
    "models": ("model_id",),
    "tokenizers": ("tokenizer_id",),
    "corpora": ("corpus_id",),
    "runs": ("run_id",),
    "neuron_facts": ("set_id", "layer", "neuron"),
    "pins": ("model_id",),
    "cluster_pins": ("model_id",),
    "unit_sets": ("set_id",),
    "unit_layers": ("set_id", "layer"),
}
"""Tables whose rows lie in another order than that of whose they are, and then of their key."""

MEASURED: Mapping[str, Sequence[str]] = {
    "neuron_facts": ("set_id", "layer", "neuron"),
    "postings": ("token_id", "set_id"),
    "key_postings": ("token_id", "set_id"),
}
"""Tables of many groups -> the columns that alone have statistics: every reader fetches those of all groups first."""

WITHHELD: Mapping[str, str] = {
    "contexts": "false",
    "context_windows": "false",
    "pole_contexts": "false",
    # A token is of the vocabulary, two in a row are of the text.
    "triggers": "n = 1",
    "continuations": "false",
    "attribute_scores": "false",
    "contrast_prompts": "false",
    "plausibility_judgements": "false",
    "explanations": "false",
    "explanation_judgements": "false",
    "foreign_explanations": "false",
}
"""Tables with texts, or with places in them -> which of their rows are published without texts."""

BLANKED: Mapping[str, Mapping[str, str]] = {
    "sequences": {"tokens": "cast([] as integer[])"},
    "examples": {"tokens": "cast([] as integer[])"},
    # What a stranger calls a token may be any text; the ids beside it are of the vocabulary.
    "foreign_neurons": {"promoted": "cast([] as varchar[])", "suppressed": "cast([] as varchar[])"},
    "shortcut_sentences": {"text": "''", "tokens": "cast([] as integer[])"},
}
"""Columns that are texts, of tables that say more than these -> what is published in their place without texts."""

_PLACES: Mapping[str, Sequence[str]] = {
    "models": ("source",),
    "unit_sets": ("source",),
    "corpora": ("recipe",),
    "runs": ("parameters",),
    "contrasts": ("prompts_a", "prompts_b"),
    "foreign_catalogs": ("source",),
    "interventions": ("asked",),
    "continuations": ("method",),
    "attribute_scores": ("scorer",),
}
"""Columns that may name files of the machine that measured: of these, only the last part of the path is published."""

_FOLDERS = r"""(^|["'= ])(?:~|[A-Za-z]:\\{1,2}|/)(?:[^"'/:\\]*[/\\]{1,2})*"""
"""A path from its root to its last part, at the beginning of a text or of a part of it."""


def order_of(table: str) -> Sequence[str]:
    """The columns by which the rows of a table are sorted: they tell any two rows apart."""
    if table in _SORTED:
        return _SORTED[table]
    declared = BY_NAME[table]
    return (*declared.ids, *(name for name in declared.key if name not in declared.ids))


def most_rows(table: str, columns: Collection[str]) -> int:
    """Rows of a row group of a table, at most."""
    if table in ("postings", "key_postings"):
        return _POSTING_ROWS
    return _UNIT_ROWS if "neuron" in columns and "token_id" not in columns else MOST_ROWS


def value_of(table: str, column: str, *, with_texts: bool) -> str:
    """What is published of a column, in SQL."""
    if not with_texts and column in BLANKED.get(table, {}):
        return BLANKED[table][column]
    if not with_texts and (table, column) == ("runs", "n_rows"):
        return f"n_rows - ({withheld_rows('runs.run_id')})"
    if column in _PLACES.get(table, ()):
        return f"""regexp_replace("{column}", {_literal(_FOLDERS)}, '\\1', 'g')"""
    return f'"{column}"'


def withheld_rows(run_id: str) -> str:
    """How many rows of a run are not published without texts, in SQL: a run tells how many it has."""
    counted = " union all ".join(
        f"select count(*) as n from store.{table} as withheld where withheld.run_id = {run_id} and not ({rows})"
        for table, rows in WITHHELD.items()
        if BY_NAME[table].is_fact
    )
    return f"select sum(n) from ({counted})"


def selected_rows(table: str, columns: Collection[str], chosen: Collection[int] | None, *, with_texts: bool) -> str:
    """Which rows of a table are published, in SQL.

    Args:
        table: name of the table.
        columns: its columns.
        chosen: numbers of the models; None: all.
        with_texts: whether texts are.
    """
    conditions = [] if with_texts else [WITHHELD.get(table, "true")]
    if chosen is not None:
        models = f"({', '.join(map(str, sorted(chosen)))})"
        owner = OWNERS.get(table)
        if owner is not None:
            conditions.append(f"{owner} in {models}")
        for other in ("other_model_id", "other_set_id"):
            if other in columns:
                conditions.append(f"coalesce({other}, {min(chosen)}) in {models}")
        if "model_id" not in columns and "tokenizer_id" in columns and table != "models":
            conditions.append(f"tokenizer_id in (select tokenizer_id from store.models where model_id in {models})")
        if owner is None and "corpus_id" in columns and table != "runs":
            conditions.append(f"corpus_id in (select corpus_id from store.runs where model_id in {models})")
    return " and ".join(f"({one})" for one in conditions if one != "true") or "true"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
