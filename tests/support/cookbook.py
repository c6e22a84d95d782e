"""The cookbook's answers from the tables that measurements publish, by loops: no view and no derived table is read."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import duckdb

from neurothek.queries.ask.statements import records

Row = dict[str, Any]
Rows = list[tuple[Any, ...]]
Neuron = tuple[int, int, int]
"""model_id, layer, neuron."""

MOST = 20
"""Rows that a question with a limit asks for."""


class Store:
    """The tables of a warehouse, read whole, and what follows from them by the definitions."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._read: dict[str, list[Row]] = {}

    def __getitem__(self, table: str) -> list[Row]:
        if table not in self._read:
            rows = records(self._connection, f"select * from store.{table}")
            # The set of a model's neurons has the model's number.
            self._read[table] = [
                {name.replace("set_id", "model_id"): value for name, value in row.items()} for row in rows
            ]
        return self._read[table]

    @cached_property
    def models(self) -> dict[int, Row]:
        return {row["model_id"]: row for row in self["models"]}

    @cached_property
    def shown(self) -> dict[int, Row]:
        """Model -> the corpus that views show: the pinned one, else one with activity, the longest, the newest."""
        corpora = {row["corpus_id"]: row for row in self["corpora"]}
        pins = {(row["model_id"], row["corpus_id"]) for row in self["pins"]}
        active = {(row["model_id"], row["corpus_id"]) for row in self["runs"] if row["job"] == "activity"}
        best: dict[int, tuple[Any, ...]] = {}
        for model_id, corpus_id in {
            (row["model_id"], row["corpus_id"]) for row in self["runs"] if row["corpus_id"] in corpora
        }:
            pair = (model_id, corpus_id)
            place = (pair in pins, pair in active, corpora[corpus_id]["n_tokens"], corpus_id)
            best[model_id] = max(best.get(model_id, place), place)
        return {model_id: corpora[place[-1]] for model_id, place in best.items()}

    def of_shown(self, table: str) -> Iterator[Row]:
        """Rows about the model's shown corpus."""
        for row in self[table]:
            if row["model_id"] in self.shown and row["corpus_id"] == self.shown[row["model_id"]]["corpus_id"]:
                yield row

    @cached_property
    def tokens(self) -> dict[tuple[int, int], Row]:
        return {(row["tokenizer_id"], row["token_id"]): row for row in self["tokens"]}

    def token(self, model_id: int, token_id: int) -> Row:
        return self.tokens[self.models[model_id]["tokenizer_id"], token_id]

    def count(self, model_id: int, token_id: int) -> int | None:
        """How often the shown corpus has a token."""
        corpus = self.shown.get(model_id)
        if corpus is None:
            return None
        return self._counts[corpus["corpus_id"], token_id]

    @cached_property
    def _counts(self) -> Counter[tuple[int, int]]:
        counts: Counter[tuple[int, int]] = Counter()
        for row in self["token_counts"]:
            counts[row["corpus_id"], row["token_id"]] += row["n_occurrences"]
        return counts

    def address(self, neuron: Neuron) -> str:
        return f"{self.models[neuron[0]]['name']}/L{neuron[1]}N{neuron[2]}"

    def id_of(self, name: str) -> int:
        return next(model_id for model_id, row in self.models.items() if row["name"] == name)

    def size(self, model_id: int) -> int:
        row = self.models[model_id]
        return int(row["n_parameters"] - row["n_parameters_embedding"])

    def depth(self, model_id: int, layer: int) -> float:
        return (layer + 0.5) / float(self.models[model_id]["n_layers"])

    def neurons(self) -> Iterator[Neuron]:
        for model_id, row in self.models.items():
            for layer in range(row["n_layers"]):
                yield from ((model_id, layer, neuron) for neuron in range(row["d_ffn"]))

    @cached_property
    def projections(self) -> dict[Neuron, Row]:
        return {at(row): row for row in self["projections"]}

    def top_tokens(self, neuron: Neuron) -> list[str] | None:
        row = self.projections.get(neuron)
        return None if row is None else [self.token(neuron[0], token)["text"] for token in row["top_token_ids"][:10]]

    @cached_property
    def postings(self) -> list[Row]:
        """With their token and address."""
        return [
            row | {"address": self.address(at(row)), **self.token(row["model_id"], row["token_id"])}
            for row in self["postings"]
        ]

    @cached_property
    def activity(self) -> dict[Neuron, dict[str, Row]]:
        """Neuron -> domain -> its row of the shown corpus."""
        found: dict[Neuron, dict[str, Row]] = defaultdict(dict)
        for row in self.of_shown("activity"):
            found[at(row)][row["domain"]] = row
        return found

    def fired(self, neuron: Neuron) -> tuple[int, int] | None:
        """Active and counted positions."""
        rows = self.activity.get(neuron, {}).values()
        return (sum(row["n_active"] for row in rows), sum(row["n_positions"] for row in rows)) if rows else None

    def starts(self, corpus_id: int) -> dict[str, int]:
        """Counted positions before each domain: they lie one after another."""
        corpus = next(row for row in self["corpora"] if row["corpus_id"] == corpus_id)
        tokenizer = next(row for row in self["tokenizers"] if row["tokenizer_id"] == corpus["tokenizer_id"])
        n_bos = tokenizer["bos_token_id"] is not None
        found: dict[str, int] = {}
        n_before = 0
        own = (row for row in self["sequences"] if row["corpus_id"] == corpus_id)
        for row in sorted(own, key=lambda row: row["sequence_id"]):
            found.setdefault(row["domain"], n_before)
            n_before += len(row["tokens"]) - n_bos
        return found

    @cached_property
    def kinds(self) -> dict[Neuron, tuple[str, str]]:
        """Neuron -> kind and strength of its position profile."""
        return {at(row): _kind(row) for row in self.of_shown("positions") if row["domain"] == "all"}

    @cached_property
    def triggers(self) -> dict[Neuron, list[Row]]:
        """Neuron -> the tokens that trigger it, most frequent first."""
        found: dict[Neuron, list[Row]] = defaultdict(list)
        for row in sorted(self.of_shown("triggers"), key=lambda row: row["rank"]):
            if row["n"] == 1:
                found[at(row)].append(row)
        return found

    @cached_property
    def detectors(self) -> dict[Neuron, list[Row]]:
        """Token detectors -> the tokens they detect, by id."""
        found = {}
        for row in self.of_shown("ngrams"):
            if row["n"] != 1 or row["n_active"] < 100 or row["n_covering_95"] > 5:
                continue
            detected = [
                one
                for one in self.triggers[at(row)]
                if one["n_occurrences"] >= 10 and 100 * one["n_active"] >= 95 * one["n_occurrences"]
            ]
            if detected and 100 * sum(one["n_active"] for one in detected) >= 95 * row["n_active"]:
                found[at(row)] = sorted(detected, key=lambda one: one["token_ids"])
        return found

    @cached_property
    def unigrams(self) -> dict[Neuron, Row]:
        return {at(row): row for row in self.of_shown("ngrams") if row["n"] == 1}


def layers_of(store: Store) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Model and layer -> active and counted positions of its neurons."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for neuron in store.neurons():
        fired = store.fired(neuron)
        if fired is not None:
            found[neuron[:2]].append(fired)
    return found


def at(row: Row) -> Neuron:
    """The neuron that a row is about."""
    return row["model_id"], row["layer"], row["neuron"]


def _kind(row: Row) -> tuple[str, str]:
    if row["n_sequences"] < 100:
        return "too few sequences", "too few sequences"
    if row["mutual_information_corrected"] <= 0.05:
        return "not positional", "not positional"
    if row["n_on_runs"] + row["n_off_runs"] == 0:
        return "other", "strong" if row["roughness"] is not None and row["roughness"] <= 0.02 else "weak"
    n_switches = row["n_switches"]
    kind = "oscillatory" if n_switches >= 3 else "both extremes" if n_switches > 0 else "one extreme"
    is_on = row["weakest_on"] is None or row["weakest_on"] >= 0.995
    is_off = row["weakest_off"] is None or row["weakest_off"] <= 0.005
    return kind, "strong" if is_on and is_off else "weak"


def first(rows: Iterable[tuple[Any, ...]], *keys: Any, most: int = MOST) -> Rows:
    """The first rows by what `keys` say of a row."""
    return sorted(rows, key=lambda row: tuple(key(row) for key in keys))[:most]


def falling(place: int) -> Any:  # noqa: ANN401 - a key
    """From the largest down, what is unknown last."""
    return lambda row: (row[place] is None, -(row[place] or 0))


def rising(*places: int) -> Any:  # noqa: ANN401 - a key
    """In the order of some columns."""
    return lambda row: tuple(row[place] for place in places)


def wilson(n: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share: the two roots of (share - p)^2 = z^2 p (1 - p) / of."""
    z = statistics.NormalDist().inv_cdf(0.975)
    share = n / of
    a, b, c = 1 + z * z / of, -(2 * share + z * z / of), share * share
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)
