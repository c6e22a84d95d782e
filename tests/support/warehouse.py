"""A small warehouse made by hand: five models, two tokenizers, three corpora, every number known to plain Python.

Scores and coefficients are drawn from a seed as multiples of 1/8, so that sums and float32 columns are exact; what is
derived from them (lists, moments, counts, facts) is computed here by loops that share nothing with the product.
"""

import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from queries.views import install
from tests.support.annotations import annotation_rows
from tests.support.overlaps import counterparts
from tests.support.profiles import by_the_definition
from tests.support.relatives import Plane
from tests.support.templates import copy_of

Row = dict[str, Any]
Neuron = tuple[int, int, int]
"""model_id, layer, neuron."""

SCHEMA = Path(__file__).parents[2] / "catalog" / "tables" / "schema"

ENGLISH = (
    *("</s>", "\n", " school", "School", "SCHOOL", " university", " bus", "bus", " coffee", " tea", "ing", " cat"),
    *(" dog", " the", "\\xe2\\x80", " <script>", "[bold]", " Café", "·", " teach", " s", "un", " schools", "er"),
)
OTHER = ("<end>", " the", "er", " dog", "School", " school", " coffee", " tea", " s", "un")
TEXTS = (ENGLISH, OTHER)
SPECIAL = frozenset({"</s>", "<end>"})


@dataclass(frozen=True)
class ModelPlan:
    """What one model of the warehouse is like."""

    name: str
    n_layers: int
    d_ffn: int
    size: int
    tokenizer_id: int = 0
    activation: str = "relu"
    variant: str | None = None
    norm_position: str = "pre"
    corpora: tuple[int, ...] = ()
    pinned: int | None = None

    @property
    def is_relu(self) -> bool:
        """Whether the coefficients are exact zeros or positive."""
        return self.activation == "relu"


MODELS = (
    ModelPlan("tiny-1m", 2, 5, 1_000_000, corpora=(0, 1), pinned=0),
    ModelPlan("tiny-2m", 3, 6, 2_000_000, corpora=(0, 1)),
    ModelPlan("tiny-2m-nopos", 3, 6, 2_000_000, variant="no-position", corpora=(0,)),
    ModelPlan("gelu-1m", 2, 4, 1_500_000, 1, "gelu_new", norm_position="post", corpora=(2,)),
    ModelPlan("weights-only", 1, 4, 500_000),
)

# name, text, tokenizer, lengths of the sequences (BOS included where there is one) by domain
CORPORA: tuple[tuple[str, str, int, dict[str, tuple[int, ...]]], ...] = (
    ("builtin", "text-one", 0, {"prose": (8, 8, 5), "code": (8, 8, 8, 3)}),
    ("long", "text-two", 0, {"prose": (8,) * 12}),
    ("builtin", "text-one", 1, {"prose": (8, 8, 4), "code": (8, 8, 8)}),
)
LENGTH = 49
"""Ids of the made-up full-length sequences behind the profiles, BOS included."""

POSITION_SEQUENCES: tuple[dict[str, int], ...] = ({"prose": 150, "code": 110}, {"prose": 120}, {"prose": 10, "code": 9})
"""How many such sequences each corpus has by domain; the last has too few."""

COMPARED = ((0, 1), (0, 4))
"""Pairs of models whose counterparts were found."""

BOS: tuple[int | None, int | None] = (0, None)
DEAD: frozenset[Neuron] = frozenset({(0, 0, 3), (0, 1, 4), (1, 0, 5), (1, 2, 1), (2, 0, 5)})
PROVABLY_DEAD: frozenset[Neuron] = frozenset({(0, 1, 4), (1, 2, 1)})
ONLY_AT_BOS: frozenset[Neuron] = frozenset({(0, 0, 3), (1, 0, 5)})
"""Of the dead ones those that fire at the BOS of every sequence."""

FLAT: Neuron = (4, 0, 3)
"""A neuron with a zero value vector: all its scores are 0."""

PLANTED: dict[Neuron, dict[str, float]] = {
    (0, 0, 0): {" school": 12, "School": 11, "SCHOOL": 10, " university": 9},
    (0, 1, 2): {" school": -12, " university": -11, " cat": 9},
    (0, 0, 1): {" coffee": 12, " tea": 11},
    (1, 2, 3): {" coffee": 10, " tea": 11, " school": 9},
    (1, 0, 2): {" s": 12, "un": 11},
    (3, 1, 1): {" school": 12, " coffee": 11, " tea": 10},
    (4, 0, 0): {" school": 9},
}


@dataclass(frozen=True)
class Measurements:
    """Everything in the warehouse: table name -> rows, and the scores and coefficients behind them."""

    rows: dict[str, list[Row]]
    scores: dict[Neuron, list[float]]
    coefficients: dict[tuple[int, Neuron], dict[int, list[float]]]
    """(corpus_id, neuron) -> sequence_id -> coefficient at every position, BOS included."""

    shown: dict[int, int] = field(default_factory=dict)
    """model_id -> corpus_id that views show."""


@cache
def hand_made() -> Measurements:
    """The warehouse's content; the same at every call."""
    draw = random.Random(20)
    data = Measurements(rows=defaultdict(list), scores={}, coefficients={})
    _add_tokens(data)
    _add_corpora(data, draw)
    for model_id, plan in enumerate(MODELS):
        _add_model(data, model_id, plan)
        _add_projections(data, model_id, plan, draw)
        for corpus_id in plan.corpora:
            _add_activity(data, model_id, plan, corpus_id, draw)
            _add_positions(data, model_id, plan, corpus_id)
        _add_relatives(data, model_id, plan)
        _choose_corpus(data, model_id, plan)
    for model_id, other_id in COMPARED:
        _add_counterparts(data, model_id, other_id)
        _add_counterparts(data, other_id, model_id)
    for model_id, plan in enumerate(MODELS):
        _add_facts(data, model_id, plan)
    # Of all but the last model.
    judged = [row for row in data.rows["projections"] if row["model_id"] < len(MODELS) - 1]
    data.rows["annotations"] = list(annotation_rows(judged, data.rows["controls"]))
    data.rows["postings"].sort(
        key=lambda row: (row["model_id"], row["side"], row["token_id"], row["rank"], row["layer"], row["neuron"])
    )
    return data


def neurons_of(model_id: int) -> Iterator[Neuron]:
    """Every neuron of a model in order."""
    plan = MODELS[model_id]
    return ((model_id, layer, neuron) for layer in range(plan.n_layers) for neuron in range(plan.d_ffn))


def address(neuron: Neuron) -> str:
    """Address of a neuron."""
    model_id, layer, index = neuron
    return f"{MODELS[model_id].name}/L{layer}N{index}"


def create_empty(path: Path) -> None:
    """A warehouse with all tables and views and without a row."""
    copy_of("empty", _create_empty, path)


def _create_empty(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        create_schema(connection)
        install.install(connection)


def create(path: Path, *, tables: frozenset[str] | None = None) -> None:
    """The warehouse made by hand; `tables` keeps only some of the facts."""
    name = "by-hand" if tables is None else f"by-hand-{'-'.join(sorted(tables))}"
    copy_of(name, lambda template: _create(template, tables), path)


def _create(path: Path, tables: frozenset[str] | None) -> None:
    with duckdb.connect(str(path)) as connection:
        create_schema(connection)
        for table, rows in hand_made().rows.items():
            if tables is None or table in tables:
                insert(connection, table, rows)
        install.install(connection)


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply the migrations by hand."""
    for file in sorted(SCHEMA.glob("*.sql")):
        connection.execute(file.read_text("utf-8"))
        connection.execute("insert into store.schema_versions values (?, timestamp '2026-01-01')", [int(file.name[:4])])


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    """Insert rows with plain statements."""
    if not rows:
        return
    columns = list(rows[0])
    line = "(" + ", ".join("?" * len(columns)) + ")"
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        values = [row[column] for row in part for column in columns]
        lines = ", ".join([line] * len(part))
        connection.execute(f"insert into store.{table} ({', '.join(columns)}) values {lines}", values)


def _add_tokens(data: Measurements) -> None:
    for tokenizer_id, texts in enumerate(TEXTS):
        data.rows["tokenizers"].append(
            {
                "tokenizer_id": tokenizer_id,
                "name": ("tiny-1m", "gelu-1m")[tokenizer_id],
                "sha256": f"tokenizer-{tokenizer_id}",
                "vocab_size": len(texts),
                "bos_token_id": BOS[tokenizer_id],
                "eos_token_id": 0,
            }
        )
        for token_id, text in enumerate(texts):
            data.rows["tokens"].append(
                {
                    "tokenizer_id": tokenizer_id,
                    "token_id": token_id,
                    "piece": text.replace(" ", "Ġ").replace("\n", "Ċ"),
                    "text": text,
                    "word": text.strip().casefold(),
                    "is_special": text in SPECIAL,
                }
            )


def _add_corpora(data: Measurements, draw: random.Random) -> None:
    for corpus_id, (name, text, tokenizer_id, domains) in enumerate(CORPORA):
        n_tokens = 0
        sequence_id = 0
        counts: dict[tuple[str, int], int] = defaultdict(int)
        has_bos = BOS[tokenizer_id] is not None
        for domain, lengths in domains.items():
            for length in lengths:
                own = [draw.randrange(1, len(TEXTS[tokenizer_id]) - 2) for _ in range(length - has_bos)]
                n_tokens += len(own)
                for token in own:
                    counts[domain, token] += 1
                data.rows["sequences"].append(
                    {
                        "corpus_id": corpus_id,
                        "sequence_id": sequence_id,
                        "domain": domain,
                        "tokens": [0, *own] if has_bos else own,
                        "starts_document": sequence_id % 2 == 0,
                    }
                )
                sequence_id += 1
        data.rows["token_counts"].extend(
            {"corpus_id": corpus_id, "domain": domain, "token_id": token, "n_occurrences": n}
            for (domain, token), n in sorted(counts.items())
        )
        data.rows["corpora"].append(
            {
                "corpus_id": corpus_id,
                "name": name,
                "sha256": f"corpus-{corpus_id}",
                "text_sha256": text,
                "tokenizer_id": tokenizer_id,
                "n_tokens": n_tokens,
                "n_sequences": sequence_id,
                "sequence_length": LENGTH,
                "recipe": json.dumps({"sources": list(domains)}),
            }
        )


def _add_model(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    n_embedding = 100_000
    data.rows["models"].append(
        {
            "model_id": model_id,
            "name": plan.name,
            "family": plan.name.split("-")[0],
            "variant": plan.variant,
            "source": f"/models/{plan.name}",
            "revision": None,
            "weights_sha256": f"weights-{model_id}",
            "architecture": "opt" if plan.is_relu else "gpt2",
            "activation": plan.activation,
            "activation_rule": "m != 0" if plan.is_relu else "m > 0",
            "has_exact_zeros": plan.is_relu,
            "norm_position": plan.norm_position,
            "position_encoding": "none" if plan.variant else "learned",
            "n_layers": plan.n_layers,
            "d_model": 4,
            "d_ffn": plan.d_ffn,
            "n_heads": 2,
            # Two rows of the unembedding belong to no token and are masked everywhere.
            "vocab_size": len(TEXTS[plan.tokenizer_id]) + 2,
            "context_length": 8,
            "n_parameters": plan.size + n_embedding,
            "n_parameters_embedding": n_embedding,
            "size": plan.size,
            "n_neurons": plan.n_layers * plan.d_ffn,
            "training_tokens": 20 * plan.size if plan.is_relu else None,
            "tokenizer_id": plan.tokenizer_id,
        }
    )
    _add_run(data, model_id, "projections", None, plan)
    if plan.pinned is not None:
        data.rows["pins"].append({"model_id": model_id, "corpus_id": plan.pinned})


def _add_run(
    data: Measurements,
    model_id: int,
    job: str,
    corpus_id: int | None,
    plan: ModelPlan,
    *,
    other_model_id: int | None = None,
) -> int:
    run_id = len(data.rows["runs"])
    rule = {} if corpus_id is None else {"activation_rule": "m != 0" if plan.is_relu else "m > 0"}
    data.rows["runs"].append(
        {
            "run_id": run_id,
            "run_key": f"run-{run_id}",
            "job": job,
            "job_version": 1,
            "model_id": model_id,
            "corpus_id": corpus_id,
            "other_model_id": other_model_id,
            "parameters": json.dumps({"k": 50} if corpus_id is None else rule),
            "dtype": "float32",
            "started_at": datetime(2026, 1, 1, 12, run_id),
            "finished_at": datetime(2026, 1, 1, 12, run_id, 30),
            "n_rows": 1,
            "versions": "{}",
        }
    )
    return run_id


def _add_projections(data: Measurements, model_id: int, plan: ModelPlan, draw: random.Random) -> None:
    run_id = data.rows["runs"][-1]["run_id"]
    texts = TEXTS[plan.tokenizer_id]
    k = min(50, len(texts) // 2)
    for key in neurons_of(model_id):
        scores = [draw.randrange(-64, 65) / 8 for _ in texts]
        for text, score in PLANTED.get(key, {}).items():
            scores[texts.index(text)] = float(score)
        if key == FLAT:
            scores = [0.0] * len(texts)
        data.scores[key] = scores
        moments = _moments(scores)
        top = sorted(range(len(texts)), key=lambda token: (-scores[token], token))[:k]
        bottom = sorted(range(len(texts)), key=lambda token: (scores[token], token))[:k]
        bound = None if plan.norm_position == "post" else (-0.5 if key in PROVABLY_DEAD else 2.5)
        data.rows["projections"].append(
            {
                "model_id": model_id,
                "layer": key[1],
                "neuron": key[2],
                "value_norm": 0.0 if key == FLAT else 1.0 + key[2] / 8,
                "score_mean": moments[0],
                "score_sd": moments[1],
                "score_skewness": moments[2],
                "score_kurtosis": moments[3],
                "score_negative_share": sum(score < 0 for score in scores) / len(scores),
                "top_token_ids": top,
                "top_scores": [scores[token] for token in top],
                "bottom_token_ids": bottom,
                "bottom_scores": [scores[token] for token in bottom],
                "preactivation_bound": bound,
                "run_id": run_id,
            }
        )
        for side, tokens in (("promoted", top), ("suppressed", bottom)):
            for rank, token in enumerate(tokens, start=1):
                data.rows["postings"].append(
                    {
                        "model_id": model_id,
                        "token_id": token,
                        "side": side,
                        "layer": key[1],
                        "neuron": key[2],
                        "rank": rank,
                        "score": scores[token],
                        "z_score": (scores[token] - moments[0]) / moments[1] if moments[1] else 0.0,
                        "run_id": run_id,
                    }
                )


def _moments(values: list[float]) -> tuple[float, float, float | None, float | None]:
    mean = math.fsum(values) / len(values)
    second, third, fourth = (
        math.fsum((value - mean) ** power for value in values) / len(values) for power in (2, 3, 4)
    )
    if second == 0:
        return mean, 0.0, None, None
    return mean, math.sqrt(second), third / second**1.5, fourth / second**2 - 3


def _add_activity(data: Measurements, model_id: int, plan: ModelPlan, corpus_id: int, draw: random.Random) -> None:
    run_id = _add_run(data, model_id, "activity", corpus_id, plan)
    context_run = _add_run(data, model_id, "contexts", corpus_id, plan)
    sequences = [row for row in data.rows["sequences"] if row["corpus_id"] == corpus_id]
    first_counted = 0 if BOS[plan.tokenizer_id] is None else 1
    for key in neurons_of(model_id):
        busy = draw.choice((0.05, 0.3, 0.9))
        run = {row["sequence_id"]: [_coefficient(key, plan, busy, draw) for _ in row["tokens"]] for row in sequences}
        if key in ONLY_AT_BOS:
            for line in run.values():
                line[0] = 1.5
        data.coefficients[corpus_id, key] = run
        ids = {"model_id": model_id, "corpus_id": corpus_id, "layer": key[1], "neuron": key[2]}
        for domain in CORPORA[corpus_id][3]:
            own = [run[row["sequence_id"]] for row in sequences if row["domain"] == domain]
            measured = _domain_activity(own, first_counted)
            data.rows["activity"].append({**ids, "domain": domain, **measured, "run_id": run_id})
        best = [
            max(((abs(m), -position, m) for position, m in enumerate(line) if position >= first_counted), default=None)
            for line in run.values()
        ]
        found = [(-one[0], sequence, -one[1], one[2]) for sequence, one in enumerate(best) if one and one[0] > 0]
        for rank, (_, sequence, position, m) in enumerate(sorted(found)[:10], start=1):
            place = {"rank": rank, "activation": m, "sequence_id": sequence, "position": position}
            data.rows["contexts"].append({**ids, **place, "run_id": context_run})


def _coefficient(key: Neuron, plan: ModelPlan, busy: float, draw: random.Random) -> float:
    size = draw.randrange(1, 32) / 8
    if plan.is_relu:
        return 0.0 if key in DEAD or draw.random() >= busy else size
    return size if draw.random() < busy else -0.125


def _domain_activity(lines: list[list[float]], first_counted: int) -> Row:
    counted = [m for line in lines for m in line[first_counted:]]
    bos = [line[0] for line in lines] if first_counted else []
    # Positive is active under both rules: the ReLU coefficients here are never negative.
    active = [m > 0 for m in counted]
    return {
        "n_positions": len(counted),
        "n_active": sum(active),
        "n_active_bos": sum(m > 0 for m in bos),
        "activation_bos": math.fsum(bos) / len(bos) if bos else None,
        "activation_sum": math.fsum(counted),
        "activation_abs_sum": math.fsum(map(abs, counted)),
        "activation_square_sum": math.fsum(m * m for m in counted),
        "activation_min": min(counted),
        "activation_max": max(counted),
        "n_above": [sum(abs(m) > bound for m in counted) for bound in (0.1, 0.5, 1, 2)],
        "first_active": active.index(True) if any(active) else None,
    }


def _add_positions(data: Measurements, model_id: int, plan: ModelPlan, corpus_id: int) -> None:
    """Profiles over made-up long sequences: the warehouse's own are too short and too few for any label."""
    run_id = _add_run(data, model_id, "positions", corpus_id, plan)
    for key in neurons_of(model_id):
        counts = {domain: _profile(key, corpus_id, domain, n) for domain, n in POSITION_SEQUENCES[corpus_id].items()}
        pooled = [sum(column) for column in zip(*counts.values(), strict=True)]
        whole = by_the_definition(pooled, sum(POSITION_SEQUENCES[corpus_id].values()), LENGTH)
        domains = {"all": pooled} | (counts if whole["mutual_information_corrected"] >= 0.01 else {})
        for domain, own in sorted(domains.items()):
            n = POSITION_SEQUENCES[corpus_id].get(domain, sum(POSITION_SEQUENCES[corpus_id].values()))
            measured = by_the_definition(own, n, LENGTH)
            data.rows["positions"].append(
                {"model_id": model_id, "corpus_id": corpus_id, "layer": key[1], "neuron": key[2], "domain": domain}
                | {"n_sequences": n, "first_position": 0 if BOS[plan.tokenizer_id] is None else 1}
                | measured
                | {"counts_64": own, "counts": own if measured["mutual_information_corrected"] >= 0.01 else None}
                | {"run_id": run_id}
            )


def _profile(key: Neuron, corpus_id: int, domain: str, n: int) -> list[int]:
    """Counts of n sequences at every position, of the shape that is the neuron's turn."""
    plan = MODELS[key[0]]
    n_positions = LENGTH - (BOS[plan.tokenizer_id] is not None)
    if key in DEAD:
        return [0] * n_positions
    draw = random.Random(f"{key} {corpus_id} {domain}")
    turn = (key[1] * plan.d_ffn + key[2]) % 9
    # On code, neurons with both extremes do not care about the position.
    shares = [0.5 if turn == 1 and domain == "code" else _share(turn, p, draw) for p in range(n_positions)]
    return [sum(draw.random() < share for _ in range(n)) for share in shares]


def _share(turn: int, position: int, draw: random.Random) -> float:
    """How often a neuron fires at a position, for nine shapes of profiles."""
    return (
        float(position // 8 % 2 == 0),
        float(position < 20),
        0.5 if position < 32 else 0.0,
        0.3,
        float(position // 12 % 2 == 1),
        0.5 + 0.4 * math.sin(position / 8),
        0.96 if position // 8 % 2 == 0 else 0.04,
        0.97 if position < 30 else 0.05,
        0.5 + draw.choice((-0.35, 0.35)),
    )[turn]


def plane(model_id: int) -> Plane:
    """The value vectors of a model as directions in a plane."""
    plan = MODELS[model_id]
    flat = frozenset(key[1:] for key in (FLAT,) if key[0] == model_id)
    return Plane(model_id, plan.n_layers, plan.d_ffn, flat)


def _add_relatives(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    mine = plane(model_id)
    run = {"run_id": _add_run(data, model_id, "clusters", None, plan)}
    data.rows["clusterings"] += [row | run for row in mine.clustering_rows()]
    data.rows["clusters"] += [row | run for row in mine.cluster_rows()]
    data.rows["neighbours"] += [row | run for row in mine.neighbour_rows()]
    for number, corpus_id in enumerate(plan.corpora):
        run = {"run_id": _add_run(data, model_id, "controls", corpus_id, plan)}
        data.rows["coherences"] += [row | run for row in mine.coherence_rows(corpus_id)]
        data.rows["control_coherences"] += [row | run for row in mine.control_coherence_rows(corpus_id)]
        if number == 0:
            data.rows["norm_overlaps"] += [row | run for row in mine.overlap_rows()]
            data.rows["controls"] += [row | run for row in mine.control_rows()]


def made_up_null(model_id: int, layer: int) -> float:
    """What random vectors of a layer are said to reach: a number that some overlaps exceed."""
    return 0.25 + layer / 16 + model_id / 64


def _add_counterparts(data: Measurements, model_id: int, other_id: int) -> None:
    run_id = _add_run(data, model_id, "counterparts", None, MODELS[model_id], other_model_id=other_id)
    one, other = (_lists(data, number) for number in (model_id, other_id))
    for (layer, neuron, rank), found in counterparts(one, other).items():
        data.rows["counterparts"].append(
            {"model_id": model_id, "layer": layer, "neuron": neuron, "other_model_id": other_id, "rank": rank}
            | found
            | {"null_99": made_up_null(model_id, layer), "run_id": run_id}
        )


def _lists(data: Measurements, model_id: int) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    return {
        (row["layer"], row["neuron"]): (row["top_token_ids"], row["bottom_token_ids"])
        for row in data.rows["projections"]
        if row["model_id"] == model_id
    }


def _choose_corpus(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    if plan.corpora:
        sizes = {row["corpus_id"]: row["n_tokens"] for row in data.rows["corpora"]}
        most = max(plan.corpora, key=lambda corpus_id: (sizes[corpus_id], corpus_id))
        data.shown[model_id] = most if plan.pinned is None else plan.pinned


def _add_facts(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    texts = TEXTS[plan.tokenizer_id]
    corpus_id = data.shown.get(model_id)
    counts: dict[int, int] = defaultdict(int)
    for row in data.rows["token_counts"]:
        if row["corpus_id"] == corpus_id:
            counts[row["token_id"]] += row["n_occurrences"]
    for row in [row for row in data.rows["projections"] if row["model_id"] == model_id]:
        key = (model_id, row["layer"], row["neuron"])
        top = row["top_token_ids"]
        logs = [math.log(1 + counts[token]) for token in top]
        copied = ("value_norm", "score_mean", "score_sd", "score_skewness", "score_kurtosis")
        data.rows["neuron_facts"].append(
            {
                "model_id": model_id,
                "layer": key[1],
                "neuron": key[2],
                "corpus_id": corpus_id,
                "address": address(key),
                "depth": (key[1] + 0.5) / plan.n_layers,
                **{name: row[name] for name in (*copied, "score_negative_share", "preactivation_bound")},
                "top_tokens": [texts[token] for token in top[:10]],
                "bottom_tokens": [texts[token] for token in row["bottom_token_ids"][:10]],
                "top_token_log_frequency": None if corpus_id is None else math.fsum(logs) / len(logs),
                **_fact_activity(data, key, corpus_id),
                **_fact_positions(data, key, corpus_id),
                **plane(model_id).facts(key[1:], corpus_id),
            }
        )


def _fact_activity(data: Measurements, key: Neuron, corpus_id: int | None) -> Row:
    names = ("n_positions", "n_active", "n_active_bos", "activation_sum", "activation_min", "activation_max")
    if corpus_id is None:
        return dict.fromkeys((*names, "first_active"))
    first_counted = 0 if BOS[MODELS[key[0]].tokenizer_id] is None else 1
    measured = _domain_activity(list(data.coefficients[corpus_id, key].values()), first_counted)
    return {name: measured[name] for name in (*names, "first_active")}


def _fact_positions(data: Measurements, key: Neuron, corpus_id: int | None) -> Row:
    names = ("mutual_information", "mutual_information_corrected", "n_switches", "n_on_runs", "n_off_runs")
    copied = (*names, "weakest_on", "weakest_off", "roughness")
    for row in data.rows["positions"]:
        place = (row["model_id"], row["layer"], row["neuron"])
        if place == key and row["corpus_id"] == corpus_id and row["domain"] == "all":
            return {"n_position_sequences": row["n_sequences"], **{name: row[name] for name in copied}}
    return dict.fromkeys(("n_position_sequences", *copied))
