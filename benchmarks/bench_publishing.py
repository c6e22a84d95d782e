"""How long a publish holds the lock: 3.7 million made-up postings of the OPT-125m shape, first and repeated."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.catalog.publishing.publish import FinishedRun, ModelRecord, Publication, publish
from neurothek.catalog.publishing.staging import RunManifest, StagedRun, now, staged_run
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.dimensions import MODELS, RUNS, TOKENIZERS, TOKENS
from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.weights import POSTINGS, PROJECTIONS

N_LAYERS, D_FFN, K, VOCAB = 12, 3_072, 50, 50_265
ROUNDS = 3


def main() -> None:
    """Take the figures and publish them."""
    rounds = [measure() for _ in range(ROUNDS)]
    best = {label: min(seconds[label] for seconds in rounds) for label in rounds[0]}
    rows: list[tuple[str, ...]] = [(label, f"{seconds:.2f}") for label, seconds in best.items()]
    text = f"""## Publishing, and starting

{N_LAYERS * D_FFN * 2 * K:,} made-up postings and {N_LAYERS * D_FFN:,} projections of the OPT-125m shape, best of
{ROUNDS}. The goals are 2 seconds under the lock, 0.25 seconds for `--help` and 0.8 for `search`.

{table(("what", "seconds"), rows)}

{machine()}
"""
    publish_block("publishing", text)


def _command_seconds(warehouse: Warehouse) -> dict[str, float]:
    """Wall time of whole commands, from starting Python to the end of the process."""
    environment = {**os.environ, "NEUROTHEK_WAREHOUSE": str(warehouse.path)}

    def run(*arguments: str) -> Callable[[], object]:
        command = [sys.executable, "-c", "import neurothek; neurothek.main()", *arguments]
        return lambda: subprocess.run(command, check=True, capture_output=True, env=environment)

    commands = {"--help": run("--help"), "search token77": run("search", "token77")}
    return {f"`neurothek {name}`": seconds for name, seconds in best_seconds(commands, rounds=5).items()}


def measure() -> dict[str, float]:
    """Seconds from asking for the lock to having given it back, for a first publish and for one that replaces it."""
    with TemporaryDirectory() as folder:
        warehouse = Warehouse(Path(folder) / "w.duckdb")
        started = time.perf_counter()
        with made_up(warehouse) as publication:
            seconds = {"making, writing and sorting them, before the lock": time.perf_counter() - started}
            for label in ("first publish", "publish that replaces it"):
                started = time.perf_counter()
                publish(warehouse, publication)
                seconds[label] = time.perf_counter() - started
        return seconds | _command_seconds(warehouse)


@contextmanager
def made_up(warehouse: Warehouse, name: str = "opt-125m", *, n_layers: int = N_LAYERS) -> Iterator[Publication]:
    """A staged run of made-up rows of a model, sorted and ready to be published."""
    manifest = RunManifest(name.ljust(64, "k"), "projections", 1, name, None, {}, "float32", now())
    with staged_run(warehouse.staging, manifest) as run:
        shards = [f"layer-{layer:04d}" for layer in range(n_layers)]
        for layer, shard in enumerate(shards):
            run.write(shard, _rows(layer))
        postings = run.sort("sorted", POSTINGS, shards, memory_bytes=1 << 30)
        yield _publication(run, shards, postings)


def _rows(layer: int) -> dict[str, pl.DataFrame]:
    random = np.random.default_rng(layer)
    # From a random start in steps of 7: a neuron's hundred ids are distinct, and every token is listed.
    starts = random.integers(0, VOCAB, size=(D_FFN, 1))
    ids = ((starts + np.arange(2 * K) * 7) % VOCAB).astype(np.int32)
    scores = -np.sort(-random.standard_normal((D_FFN, 2 * K)).astype(np.float32), axis=1)
    neurons = np.arange(D_FFN, dtype=np.int32)
    numbers = ("value_norm", "score_mean", "score_sd", "score_skewness", "score_kurtosis", "score_negative_share")
    projections = {
        "layer": np.full(D_FFN, layer, np.int16),
        "neuron": neurons,
        **{name: random.random(D_FFN) for name in numbers},
        "top_token_ids": list(ids[:, :K]),
        "top_scores": list(scores[:, :K]),
        "bottom_token_ids": list(ids[:, K:]),
        "bottom_scores": list(scores[:, ::-1][:, :K]),
        "preactivation_bound": random.random(D_FFN),
    }
    postings = {
        "token_id": ids.ravel(),
        "side": np.tile(np.repeat(["promoted", "suppressed"], K), D_FFN),
        "layer": np.full(ids.size, layer, np.int16),
        "neuron": np.repeat(neurons, 2 * K),
        "rank": np.tile(np.arange(1, K + 1, dtype=np.int16), 2 * D_FFN),
        "score": scores.ravel(),
        "z_score": scores.ravel() * np.float32(1.1),
    }
    return {
        "projections": PROJECTIONS.check(pl.DataFrame(projections, schema=PROJECTIONS.schema)),
        "postings": POSTINGS.check(pl.DataFrame(postings, schema=POSTINGS.schema)),
    }


def _publication(run: StagedRun, shards: list[str], postings: Path) -> Publication:
    model = {name: ("made up" if dtype == pl.String else 1) for name, dtype in MODELS.schema.items()}
    model |= {"name": run.manifest.model, "has_exact_zeros": True, "n_layers": len(shards), "d_ffn": D_FFN}
    tokenizer = {"name": "made up", "sha256": "0", "vocab_size": VOCAB, "bos_token_id": 2, "eos_token_id": 2}
    words = [f"token{i}" for i in range(VOCAB)]
    tokens = {"token_id": range(VOCAB), "piece": words, "text": words, "word": words, "is_special": [False] * VOCAB}
    when = {"started_at": now(), "finished_at": now(), "n_rows": 0, "versions": "{}"}
    row = {"run_key": run.manifest.run_key, "job": "projections", "job_version": 1, "parameters": "{}"}
    files = {"projections": [run.path(shard, "projections") for shard in shards], "postings": [postings]}
    record = ModelRecord(_one(MODELS, model), _one(TOKENIZERS, tokenizer), pl.DataFrame(tokens, schema=TOKENS.schema))
    return Publication(
        record, None, [FinishedRun(_one(RUNS, row | {"dtype": "float32"} | when), files, needs_corpus=False)]
    )


def _one(table: Table, row: Mapping[str, object]) -> pl.DataFrame:
    return pl.DataFrame([row], schema=table.schema)
