"""Warehouses of a made-up family in which only this is known: at how many tokens each neuron fired."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from neurothek.catalog.publishing import summaries
from tests.support import warehouse as made
from tests.support.tiny import Row

FAMILY = "made"


@dataclass(frozen=True)
class Size:
    """One model, called `made-NAME`."""

    name: str  # its name without the family's
    size: int  # parameters without embeddings
    n_active: tuple[int, ...]  # tokens at which each of its neurons was active
    n_tokens: int = 1000  # tokens that it saw
    # training tokens for each of all its parameters, of which a quarter more are embeddings
    trained_on: int | None = 20
    variant: str | None = None  # what sets it apart; None for a plain size
    text: str = "text"  # what it read
    rule: str = "m != 0"  # when a neuron counted as active
    has_exact_zeros: bool = True  # whether a neuron can be dead

    @property
    def model(self) -> str:
        """Its whole name."""
        return f"{FAMILY}-{self.name}"


def create(path: Path, sizes: Sequence[Size]) -> None:
    """A warehouse of these models, whose views are computed as a publish computes them."""
    made.create_empty(path)
    with duckdb.connect(str(path)) as connection:
        made.insert(connection, "tokenizers", made.hand_made().rows["tokenizers"][:1])
        for number, size in enumerate(sizes):
            _add(connection, number, size)
            summaries.refresh(connection, number)


def _add(connection: duckdb.DuckDBPyConnection, number: int, size: Size) -> None:
    source = made.hand_made().rows
    n_all = size.size + size.size // 4
    model = {"model_id": number, "name": size.model, "family": FAMILY, "variant": size.variant, "size": size.size}
    counts = {"n_parameters": n_all, "n_parameters_embedding": size.size // 4, "n_layers": 1}
    trained = {"training_tokens": None if size.trained_on is None else size.trained_on * n_all}
    shape = {"d_ffn": len(size.n_active), "n_neurons": len(size.n_active), "has_exact_zeros": size.has_exact_zeros}
    made.insert(connection, "models", [source["models"][0] | model | counts | trained | shape])
    corpus = {"corpus_id": number, "name": size.text, "text_sha256": size.text, "n_tokens": size.n_tokens}
    made.insert(connection, "corpora", [source["corpora"][0] | corpus])
    (of_activity,) = [row for row in source["runs"] if row["job"] == "activity"][:1]
    run = {"run_id": number, "model_id": number, "corpus_id": number, "run_key": f"run-{number}"}
    rule = {"parameters": f'{{"activation_rule": "{size.rule}"}}'}
    made.insert(connection, "runs", [of_activity | run | rule])
    nothing: Row = {"top_tokens": [], "bottom_tokens": [], "preactivation_bound": None}
    neurons = [
        source["neuron_facts"][0]
        | {"model_id": number, "layer": 0, "neuron": neuron, "address": f"{size.model}/L0N{neuron}", "depth": 0.5}
        | {"corpus_id": number, "n_positions": size.n_tokens, "n_active": n_active}
        # As of coefficients that are 0 or 1.
        | {"effective_frequency": n_active / size.n_tokens or None}
        | {"contribution_max": None if size.has_exact_zeros else float(n_active > 0)}
        | nothing
        for neuron, n_active in enumerate(size.n_active)
    ]
    made.insert(connection, "neuron_facts", neurons)
    fired = [
        source["activity"][0]
        | {"model_id": number, "corpus_id": number, "layer": 0, "neuron": neuron, "run_id": number}
        | {"n_positions": size.n_tokens, "n_active": n_active, "first_active": 0 if n_active else None}
        for neuron, n_active in enumerate(size.n_active)
    ]
    made.insert(connection, "activity", fired)
