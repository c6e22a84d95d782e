"""What one neuron reads: the tokens whose embeddings its key likes most, and how many of its contexts are at them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from neurothek.catalog.spelling import quoted
from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import Section, first_of
from neurothek.queries.ask.statements import framed
from neurothek.queries.names.words import Row, listed_tokens, with_texts

READ_COLUMNS: Mapping[str, pl.DataType] = {
    "reader": TEXT,
    "pole": TEXT,
    "rank": SMALL,
    "token_id": INTEGER,
    "token": TEXT,
    "score": DOUBLE,
    "z_score": DOUBLE,
    "corpus_count": BIG,
}

_POLES = {"promoted": "positive", "suppressed": "negative"}
_NAMES = {"key": "key", "gate": "gate", "up": "up projection"}
_FIRST = 3
"""Tokens of each list that the sentence tells."""

_REMARK = (
    "tokens whose input embedding has the highest score in the key; above the first layers the stream is no longer an"
    " embedding"
)
_REMARK_OF_GATED = (
    "tokens whose input embedding has the highest scores in the gate and in the up projection, and the lowest in the"
    " latter: at these an open gate gives a coefficient below 0; above the first layers the stream is no longer an"
    " embedding"
)


@dataclass(frozen=True)
class Reads:
    """What a neuron reads; empty where the job keys was not run for its model."""

    tokens: pl.DataFrame  # a row for each token that a reader lists, with the columns of `READ_COLUMNS`
    n_contexts: int  # its strongest contexts on the page's corpus
    n_read: Mapping[str, int]  # reader -> how many of them are at a token that it reads, of up at the pole there

    def sentence(self) -> str:
        """The first tokens, and how many contexts are at tokens that it reads; nothing where keys were not measured."""
        return " ".join(f"Its {_NAMES[reader]} reads {self._lists(reader)}." for reader in self.readers)

    @property
    def readers(self) -> list[str]:
        """The key, or the gate and the up projection; none where keys were not measured."""
        return self.tokens["reader"].unique(maintain_order=True).to_list()

    def _lists(self, reader: str) -> str:
        lists = []
        for (pole,), rows in self.tokens.filter(reader=reader).group_by("pole", maintain_order=True):
            first = " ".join(map(quoted, rows["token"].head(_FIRST)))
            lists.append(first if pole == "positive" else f"at activations below 0 {first}")
        places = f" (at {self.n_read[reader]} of its {self.n_contexts} strongest contexts)" if self.n_contexts else ""
        return f"{', '.join(lists)}{places}"

    def sections(self, limit: int) -> list[Section]:
        """The lists in one table, side by side where there are several."""
        if self.tokens.is_empty():
            return []
        if self.readers == ["key"]:
            columns = ("rank", "token", "score", "z_score", "corpus_count")
            return [first_of("reads", self.tokens.select(columns), limit, _REMARK)]
        table: pl.DataFrame | None = None
        for (reader, pole), rows in self.tokens.group_by("reader", "pole", maintain_order=True):
            name = str(reader) if reader == "gate" else f"{reader}_{pole}"
            part = rows.select("rank", pl.col("token").alias(name), pl.col("z_score").alias(f"{name}_z"))
            table = part if table is None else table.join(part, on="rank", how="left")
        assert table is not None
        return [first_of("reads", table, limit, _REMARK_OF_GATED)]


def neuron_reads(
    rows: Sequence[Row], contexts: Sequence[Row], texts: Mapping[int, str], counts: Mapping[int, int] | None
) -> Reads:
    """Of one neuron.

    Args:
        rows: its rows of `reads` in `NeuronRows.of`.
        contexts: its strongest places, with `token_id` and `activation`.
        texts: texts of the tokens in all these rows.
        counts: how often these tokens occur in the corpus; None without one.
    """
    lists = read_tokens(rows)
    read = {(row["reader"], row["pole"], row["token_id"]) for row in lists}
    n_read = {
        row["reader"]: sum(
            (row["reader"], _pole(row["reader"], place["activation"]), place["token_id"]) in read for place in contexts
        )
        for row in rows
    }
    return Reads(framed(with_texts(lists, texts, counts), READ_COLUMNS), len(contexts), n_read)


def read_tokens(rows: Sequence[Row]) -> list[Row]:
    """A row for each token that a reader likes most, and of up projections for those at the other end."""
    return [
        {**token, "reader": row["reader"], "pole": _POLES[token["side"]]}
        for row in rows
        for token in listed_tokens([row])
        if token["side"] == "promoted" or row["reader"] == "up"
    ]


def _pole(reader: str, activation: float) -> str:
    return "negative" if reader == "up" and activation < 0 else "positive"
