"""Which neurons make a model predict one token and not another, joined with what the warehouse knows about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import quoted, visible
from neurothek.catalog.tables.table import DOUBLE, FLOAT, INTEGER, SMALL, TEXT
from neurothek.catalog.tables.traces import Attributed, AttributionOrder
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import framed
from neurothek.queries.names.models import KnownModel
from neurothek.queries.names.words import texts_of
from neurothek.queries.trace.trace import joined_with_facts, quoted_end

ATTRIBUTION_COLUMNS: Mapping[str, pl.DataType] = {
    "rank": INTEGER,
    "layer": SMALL,
    "neuron": INTEGER,
    "address": TEXT,
    "coefficient": FLOAT,
    "relevance": DOUBLE,
    "direct": DOUBLE,
    "ablated": DOUBLE,
    "writes": pl.List(TEXT),
    "kind": TEXT,
}
_SHOWN_TOKENS = 5
_AGREE = 2
"""Decimals of a correlation."""


@dataclass(frozen=True, repr=False)
class AttributionPage(TabularAnswer):
    """Effects of a model's neurons on the logit of one token less that of another, at one position of a prompt.

    Attributes:
        model: its name.
        attributed: what was measured: the difference of the logits, what all neurons add to it themselves, and the
            correlations with switching neurons off.
        final: text of the token that the model predicts.
        toward: text of the token whose logit it is.
        instead: text of the token whose logit is taken off; None: the mean over the vocabulary is.
        neurons: the neurons with the largest effects of either sign, with the columns of `ATTRIBUTION_COLUMNS`:
            `relevance`, the effect by gradients through all layers above, of all positions; `direct`, what the neuron
            adds to the difference itself at the position; `ablated`, what the difference loses with the neuron set to
            0 at every position, null where that was not asked for; `writes`, the first tokens that it promotes at its
            activation there.
        sort: the column that the neurons are sorted by.
        top: how many of them the table shows.
    """

    model: str
    attributed: Attributed
    final: str
    toward: str
    instead: str | None
    neurons: pl.DataFrame
    sort: AttributionOrder = "relevance"
    top: int = 10

    @property
    def summary(self) -> str:
        """What the difference is, and how much of it neurons add themselves."""
        it = self.attributed
        after = quoted_end(it.tokens[: it.position + 1])
        than = "all tokens on average" if self.instead is None else quoted(self.instead)
        sentence = (
            f"{self.model} at position {it.position} (0 to {len(it.tokens) - 1}), after {after}: it predicts"
            f" {quoted(self.final)}. Logit of {quoted(self.toward)} less that of {than}: {_signed(it.difference)},"
            f" of which all neurons together add {_signed(it.direct_total)} themselves."
        )
        if it.correlation_relevance is None or it.correlation_direct is None:
            return sentence
        n = self.neurons.height - self.neurons["ablated"].null_count()
        return (
            f"{sentence} Beside switching the first {n} off, one at a time, relevance correlates by"
            f" {it.correlation_relevance:.{_AGREE}f} and direct by {it.correlation_direct:.{_AGREE}f}."
        )

    def sections(self) -> list[Section]:
        """The neurons."""
        has_ablated = self.neurons["ablated"].null_count() < self.neurons.height
        columns = ["layer", "neuron", "coefficient", "relevance", "direct", *(["ablated"] if has_ablated else [])]
        table = self.neurons.head(self.top).select(*columns, pl.col("writes").list.head(_SHOWN_TOKENS), "kind")
        other = "" if self.instead is None else f" and not {visible(self.instead)}"
        remark = (
            "relevance: activations at all positions times the gradient, norms and attention held (RelP);\n"
            "direct: what the neuron adds at this position, through the final norm alone"
        )
        if has_ablated:
            remark += ";\nablated: what the difference loses with the neuron alone set to 0 at every position"
        return [Section(f"neurons of all layers for {visible(self.toward)}{other}, by {self.sort}", table, remark)]

    def data(self) -> dict[str, Any]:
        """The attribution for programs: `attribution` with the difference, and `neurons`."""
        it = self.attributed
        facts = {
            "model": self.model,
            "tokens": list(it.tokens),
            "position": it.position,
            "final_token": self.final,
            "toward": self.toward,
            "instead": self.instead,
            "difference": it.difference,
            "direct_total": it.direct_total,
            "sort": self.sort,
            "correlation_relevance": it.correlation_relevance,
            "correlation_direct": it.correlation_direct,
        }
        return {"attribution": facts, "neurons": self.neurons}


@with_its_sql
def attribution_page(
    connection: duckdb.DuckDBPyConnection,
    model: KnownModel,
    attributed: Attributed,
    *,
    sort: AttributionOrder,
    top: int,
) -> AttributionPage:
    """Join the effects with what the warehouse knows about tokens and neurons."""
    ids = {attributed.final_token, attributed.toward, *([] if attributed.instead is None else [attributed.instead])}
    texts = texts_of(connection, model.tokenizer_id, ids)
    rows = joined_with_facts(connection, model, attributed.neurons.to_dicts())
    return AttributionPage(
        model.name,
        attributed,
        texts[attributed.final_token],
        texts[attributed.toward],
        None if attributed.instead is None else texts[attributed.instead],
        framed(rows, ATTRIBUTION_COLUMNS),
        sort,
        top,
    )


def _signed(number: float) -> str:
    return f"{number:+.3g}"
