"""A prompt as a grid of layers by positions: what a model predicts after each layer at each of its tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import quoted, visible
from neurothek.catalog.tables.table import BIG, DOUBLE, FLOAT, INTEGER, SMALL, TEXT
from neurothek.catalog.tables.traces import PromptActivations, TracedGrid
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import framed
from neurothek.queries.names.models import KnownModel, NeuronAddress
from neurothek.queries.names.words import texts_of
from neurothek.queries.trace.trace import Lens, joined_with_facts, quoted_end

CELL_COLUMNS: Mapping[str, pl.DataType] = {
    "layer": SMALL,
    "position": INTEGER,
    "token": TEXT,
    "predicted": TEXT,
    "probability": DOUBLE,
    "tokens": pl.List(TEXT),
    "probabilities": pl.List(DOUBLE),
    "before": TEXT,
    "final": TEXT,
    "final_rank": INTEGER,
}

CELL_NEURON_COLUMNS: Mapping[str, pl.DataType] = {
    "layer": SMALL,
    "position": INTEGER,
    "rank": SMALL,
    "neuron": INTEGER,
    "address": TEXT,
    "coefficient": FLOAT,
    "share": DOUBLE,
    "centred_final": FLOAT,
    "direct_final": FLOAT,
    "writes": pl.List(TEXT),
    "frequency": DOUBLE,
    "kind": TEXT,
    "n_tokens_seen": BIG,
    "corpus": TEXT,
}


@dataclass(frozen=True, repr=False)
class GridPage(TabularAnswer):
    """Predictions of one model after each layer at each position of a prompt.

    Attributes:
        model: its name.
        lens: what streams were read through.
        tokens: texts of the prompt's tokens, a prepended BOS included.
        first: the first position that was read, 0-based.
        cells: one row per layer and position, with the columns of `CELL_COLUMNS`: `token`, the prompt's own; the
            likeliest tokens after the layer's block, of which the first is `predicted`; `before`, the first before its
            FFN, unknown where states are read through matrices; `final`, what the whole model predicts at the position,
            and `final_rank`, its rank.
        neurons: the dominant neurons of every cell, largest contribution first, with the columns of
            `CELL_NEURON_COLUMNS`: those of `TracePage.neurons`, `centred_final` and `direct_final` about the cell's
            position; no rows unless they were asked for.
        setting: what was done to a neuron meanwhile, such as "L3N17 set to 0"; nothing if nothing was.
    """

    model: str
    lens: Lens
    tokens: tuple[str, ...]
    first: int
    cells: pl.DataFrame
    neurons: pl.DataFrame
    setting: str = ""

    @property
    def n_layers(self) -> int:
        """How many layers the model has."""
        return self.cells.get_column("layer").n_unique()

    def cell(self, layer: int, position: int) -> Mapping[str, Any]:
        """The row of one layer and position."""
        return self.cells.row(by_predicate=(pl.col("layer") == layer) & (pl.col("position") == position), named=True)

    def settled(self, position: int) -> int:
        """The first layer from which on the token predicted in the end stays at the top of a position."""
        ranks = self.cells.filter(position=position).sort("layer").get_column("final_rank").to_list()
        others = [layer for layer, rank in enumerate(ranks) if rank > 1]
        # Tokens of one score share a rank: after the last layer it is 1.
        return max(others, default=-1) + 1

    @property
    def summary(self) -> str:
        """What is predicted last, and where it settled."""
        last = len(self.tokens) - 1
        end = self.cell(self.n_layers - 1, last)
        done = f" with {self.setting}" if self.setting else ""
        sentence = f"After {quoted_end(self.tokens)}, {self.model}{done} predicts {quoted(end['final'])}"
        return f"{sentence} ({100 * end['probability']:.1f}%), at the top from layer {self.settled(last)} on."

    def sections(self) -> list[Section]:
        """The grid, the last layer first."""
        remark = "the likeliest next token after each layer, its probability in percent; columns: positions"
        columns = [
            pl.Series(
                f"{position} {visible(self.tokens[position])}",
                [self._cell(layer, position) for layer in self._layers()],
            )
            for position in range(self.first, len(self.tokens))
        ]
        return [Section("predictions", pl.DataFrame([pl.Series("layer", self._layers()), *columns]), remark)]

    def _layers(self) -> list[int]:
        return list(range(self.n_layers))[::-1]

    def _cell(self, layer: int, position: int) -> str:
        cell = self.cell(layer, position)
        return f"{visible(cell['predicted'])} {100 * cell['probability']:.0f}"

    def data(self) -> dict[str, Any]:
        """The grid for programs: `cells`, `neurons` if they were asked for, and `grid` with the rest."""
        grid = {
            "model": self.model,
            "lens": self.lens,
            "tokens": list(self.tokens),
            "first": self.first,
            "setting": self.setting,
        }
        neurons = {} if self.neurons.is_empty() else {"neurons": self.neurons}
        return {"grid": grid, "cells": self.cells, **neurons}


@with_its_sql
def grid_page(
    connection: duckdb.DuckDBPyConnection,
    model: KnownModel,
    traced: TracedGrid,
    *,
    lens: Lens = "id",
    setting: str = "",
) -> GridPage:
    """Join what the model predicted with the texts of its tokens."""
    rows = traced.cells.to_dicts()
    ids = {token for row in rows for token in (*row["token_ids"], row["token_before"]) if token is not None}
    texts = texts_of(connection, model.tokenizer_id, ids)
    last = max(row["layer"] for row in rows)
    final = {row["position"]: texts[row["token_ids"][0]] for row in rows if row["layer"] == last}
    for row in rows:
        row["token"] = traced.tokens[row["position"]]
        row["tokens"] = [texts[token] for token in row["token_ids"]]
        row["predicted"], row["probability"] = row["tokens"][0], row["probabilities"][0]
        row["before"] = None if row["token_before"] is None else texts[row["token_before"]]
        row["final"] = final[row["position"]]
    cells = framed(rows, CELL_COLUMNS)
    return GridPage(model.name, lens, traced.tokens, traced.first, cells, _dominant(connection, model, traced), setting)


def _dominant(connection: duckdb.DuckDBPyConnection, model: KnownModel, traced: TracedGrid) -> pl.DataFrame:
    """Rows of `CELL_NEURON_COLUMNS`."""
    if traced.neurons.is_empty():
        return pl.DataFrame(schema=dict(CELL_NEURON_COLUMNS))
    return framed(joined_with_facts(connection, model, traced.neurons.to_dicts()), CELL_NEURON_COLUMNS)


ALONG_COLUMNS: Mapping[str, pl.DataType] = {"position": INTEGER, "token": TEXT, "activation": FLOAT}


@dataclass(frozen=True, repr=False)
class AlongPage(TabularAnswer):
    """One neuron's activation on each token of a prompt.

    Attributes:
        address: the neuron's address.
        tokens: one row per position, a prepended BOS included, with the columns of `ALONG_COLUMNS`.
    """

    address: str
    tokens: pl.DataFrame

    @property
    def summary(self) -> str:
        """Where it is strongest."""
        place = self.tokens.get_column("activation").abs().arg_max() or 0
        strongest = self.tokens.row(place, named=True)
        if not strongest["activation"]:
            return f"{self.address} is 0 on all {self.tokens.height} tokens."
        where = f"{visible(strongest['token'])} (position {strongest['position']})"
        return f"{self.address} is strongest on {where}: {strongest['activation']:.3g}."

    def sections(self) -> list[Section]:
        """The tokens."""
        return [Section("activations", self.tokens)]

    def data(self) -> dict[str, Any]:
        """The activations for programs: `tokens`, and `along` with the rest."""
        return {"along": {"address": self.address}, "tokens": self.tokens}


def along_page(neuron: NeuronAddress, activations: PromptActivations) -> AlongPage:
    """The answer about a neuron."""
    rows = zip(range(len(activations.tokens)), activations.tokens, activations.activations, strict=True)
    return AlongPage(str(neuron), pl.DataFrame(list(rows), schema=dict(ALONG_COLUMNS), orient="row"))
