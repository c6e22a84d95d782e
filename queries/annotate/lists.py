"""The lists that people find plausible or not: what shortcuts put first, in an order that reveals nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import duckdb
import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.catalog.tables.annotations import N_LISTED
from neurothek.catalog.tables.table import TEXT
from neurothek.queries.annotate.errors import no_lists
from neurothek.queries.annotate.sample import digest
from neurothek.queries.ask.statements import records
from neurothek.queries.names.models import KnownModel, choose_model

_SHORTCUT_LISTS = """\
-- The tokens that each shortcut of one model puts first at each state, sentence by sentence.
select
    sentence_id,
    method,
    state,
    any_value(sentence) as text,
    list(token_id order by rank) as token_ids,
    list(token order by rank) as tokens,
from shortcut_readings
where model = $model and rank <= $n_listed
group by sentence_id, method, state
order by sentence_id, method, state
"""

_JUDGED_LISTS = """\
-- The sentences and lists of one model whose plausibility one annotator has judged.
select distinct text, shown_token_ids as token_ids
from store.plausibility_judgements
where model_id = $model_id and annotator = $annotator
"""

PER_STATE = 10
"""Sentences whose lists are judged, the same for each state and method [ours]."""


@dataclass(frozen=True)
class ListedTokens:
    """A list as an annotator sees it; which shortcuts and states gave it is not kept."""

    handle: str  # a name that does not tell where it is from
    text: str  # the sentence
    token_ids: tuple[int, ...]  # the tokens that are put first, best first
    tokens: tuple[str, ...]  # their exact texts


@dataclass(frozen=True)
class ListSample:
    """What is drawn of one model by one seed; the same for everybody, in the same order."""

    model: KnownModel  # the model
    seed: int  # of the draw
    # in the order in which they are judged; one that several shortcuts give stands there once
    lists: tuple[ListedTokens, ...]

    @cached_property
    def by_handle(self) -> Mapping[str, ListedTokens]:
        """The lists by their handles."""
        return {one.handle: one for one in self.lists}

    def frame(self) -> pl.DataFrame:
        """One row per list: model, item, text, tokens."""
        return pl.DataFrame(
            {
                "model": [self.model.name] * len(self.lists),
                "item": [one.handle for one in self.lists],
                "text": [one.text for one in self.lists],
                "tokens": [list(one.tokens) for one in self.lists],
            },
            schema={"model": TEXT, "item": TEXT, "text": TEXT, "tokens": pl.List(TEXT)},
        )

    def sheet(self, annotator: str | None = None) -> pl.DataFrame:
        """One row per list to be filled in: plausible is empty, every token has a cell with its rank.

        Tokens stand behind their rank, and texts behind a mark, as a cell that began with = would be a formula to a
        spreadsheet.
        """
        columns: dict[str, Sequence[str | None]] = {
            "model": [self.model.name] * len(self.lists),
            "item": [one.handle for one in self.lists],
            "annotator": [annotator] * len(self.lists),
            "plausible": [None] * len(self.lists),
            "text": [f"... {one.text}" for one in self.lists],
            **{str(rank): [_cell(one, rank) for one in self.lists] for rank in range(1, N_LISTED + 1)},
        }
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, TEXT))


def draw_lists(connection: duckdb.DuckDBPyConnection, model: str, *, seed: int = 0) -> ListSample:
    """The lists of ten sentences, of every state and of both methods, each once, shuffled."""
    model_row = choose_model(connection, model)
    rows = records(connection, _SHORTCUT_LISTS, {"model": model_row.name, "n_listed": N_LISTED})
    if not rows:
        raise no_lists(model)
    sentences = sorted({row["sentence_id"] for row in rows}, key=lambda one: digest(f"{seed} sentence {one}"))
    drawn = set(sentences[:PER_STATE])
    lists: dict[str, ListedTokens] = {}
    for row in rows:
        if row["sentence_id"] in drawn:
            text, ids = row["text"], tuple(row["token_ids"])
            handle = f"{seed}-{digest(f'{seed} {text} {ids}')[:12]}"
            lists[handle] = ListedTokens(handle, text, ids, tuple(row["tokens"]))
    # Handles are drawn at random: their order is the shuffle.
    return ListSample(model_row, seed, tuple(lists[handle] for handle in sorted(lists)))


def lists_left(connection: duckdb.DuckDBPyConnection, sample: ListSample, annotator: str) -> ListSample:
    """What an annotator still has to judge."""
    parameters = {"model_id": sample.model.model_id, "annotator": annotator}
    rows = records(connection, _JUDGED_LISTS, parameters)
    done = {(row["text"], tuple(row["token_ids"])) for row in rows}
    return replace(sample, lists=tuple(one for one in sample.lists if (one.text, one.token_ids) not in done))


def _cell(one: ListedTokens, rank: int) -> str | None:
    return f"{rank} {visible(one.tokens[rank - 1])}" if rank <= len(one.tokens) else None
