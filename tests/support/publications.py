"""Small made-up publications with known numbers, for tests that need rows in a warehouse but no model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neurothek.catalog.publishing.publish import (
    CorpusRecord,
    FinishedRun,
    ModelRecord,
    PairedRun,
    Publication,
    publish,
    publish_pair,
)
from neurothek.catalog.publishing.staging import RunManifest, now, staged_run
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.dimensions import CORPORA, MODELS, RUNS, SEQUENCES, TOKEN_COUNTS, TOKENIZERS, TOKENS
from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import (
    ACTIVATION_HISTOGRAMS,
    ACTIVITY,
    COHERENCES,
    CONTEXT_WINDOWS,
    CONTEXTS,
    CONTROL_COHERENCES,
    NGRAM_SPECTRUM,
    NGRAMS,
    POSITIONS,
    SHUFFLED_NGRAMS,
    TRIGGERS,
)
from neurothek.catalog.tables.weights import (
    CLUSTER_CONTROLS,
    CLUSTERINGS,
    CLUSTERS,
    CONTROLS,
    COUNTERPARTS,
    LOGIT_HISTOGRAMS,
    NEIGHBOURS,
    NORM_OVERLAPS,
    POSTINGS,
    PROJECTIONS,
    TOKEN_INDICATORS,
    TOKEN_NEIGHBOURS,
)
from tests.support import overlaps
from tests.support.templates import copy_of

N_LAYERS, D_FFN, VOCAB, K = 2, 6, 20, 4
WHEN = datetime(2026, 1, 2, 3, 4, 5)


def frame(table: Table, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a frame of the table's exact types."""
    return pl.DataFrame([dict(row) for row in rows], schema=table.schema)


def model(name: str = "tiny", *, weights: str = "w0", tokenizer: str = "t0") -> ModelRecord:
    """A model of two layers of six neurons over twenty tokens."""
    row = dict.fromkeys(MODELS.schema, 1) | {
        "name": name,
        "family": "tiny",
        "variant": None,
        "source": f"/models/{name}",
        "revision": None,
        "weights_sha256": weights,
        "architecture": "opt",
        "activation": "relu",
        "activation_rule": "m != 0",
        "has_exact_zeros": True,
        "norm_position": "pre",
        "position_encoding": "learned",
        "n_layers": N_LAYERS,
        "d_ffn": D_FFN,
        "vocab_size": VOCAB,
        "n_neurons": N_LAYERS * D_FFN,
        "training_tokens": None,
        "size": 0,
    }
    known = {"name": "tok", "sha256": tokenizer, "vocab_size": VOCAB, "bos_token_id": 0, "eos_token_id": 0}
    words = [f" w{i}" for i in range(VOCAB)]
    tokens = [
        {"token_id": i, "piece": word, "text": word, "word": word.strip(), "is_special": i == 0}
        for i, word in enumerate(words)
    ]
    return ModelRecord(frame(MODELS, [row]), frame(TOKENIZERS, [known]), frame(TOKENS, tokens))


def corpus(name: str = "text", *, sha256: str = "c0", n_sequences: int = 3) -> CorpusRecord:
    """Sequences of a BOS and four ids; the first is of the domain prose, the others are code."""
    sequences: list[dict[str, Any]] = [
        {
            "sequence_id": i,
            "domain": "prose" if i == 0 else "code",
            "tokens": [0, *((i + j) % VOCAB for j in range(1, 5))],
            "starts_document": True,
        }
        for i in range(n_sequences)
    ]
    counts: dict[tuple[str, int], int] = {}
    for sequence in sequences:
        for token in sequence["tokens"][1:]:
            counts[sequence["domain"], token] = counts.get((sequence["domain"], token), 0) + 1
    row = {
        "name": name,
        "sha256": sha256,
        "text_sha256": f"text of {sha256}",
        "n_tokens": 4 * n_sequences,
        "n_sequences": n_sequences,
        "sequence_length": 5,
        "recipe": "{}",
    }
    counted = [{"domain": domain, "token_id": token, "n_occurrences": n} for (domain, token), n in counts.items()]
    return CorpusRecord(frame(CORPORA, [row]), frame(SEQUENCES, sequences), frame(TOKEN_COUNTS, counted))


def weights_frames(seed: int = 0) -> dict[str, pl.DataFrame]:
    """Projections, postings, token neighbours and histograms of the two layers, seeded."""
    random = np.random.default_rng(seed)
    projections, postings, histograms = [], [], []
    for layer in range(N_LAYERS):
        for neuron in range(D_FFN):
            scores = random.standard_normal(VOCAB).astype(np.float32)
            order = np.argsort(-scores, kind="stable")
            top, bottom = order[:K], order[::-1][:K]
            mean, sd = float(scores.mean()), float(scores.std())
            projections.append(
                {"layer": layer, "neuron": neuron}
                | dict.fromkeys(("score_skewness", "score_kurtosis", "preactivation_bound"), 0.5)
                | {"value_norm": 1.0, "score_mean": mean, "score_sd": sd, "score_negative_share": 0.5}
                | {"top_token_ids": top.tolist(), "top_scores": scores[top].tolist()}
                | {"bottom_token_ids": bottom.tolist(), "bottom_scores": scores[bottom].tolist()}
            )
            # All in the bin above the mean: nothing here reads more than how many.
            counts = [0] * 33 + [VOCAB] + [0] * 32
            histograms.append({"layer": layer, "neuron": neuron, "counts": counts})
            for side, listed in (("promoted", top), ("suppressed", bottom)):
                postings += [
                    {"token_id": token, "side": side, "layer": layer, "neuron": neuron, "rank": rank}
                    | {"score": float(scores[token]), "z_score": (float(scores[token]) - mean) / sd}
                    for rank, token in enumerate(listed.tolist(), start=1)
                ]
    neighbours = [{"token_id": i, "rank": 1, "neighbour_id": (i + 1) % VOCAB, "cosine": 0.5} for i in range(VOCAB)]
    unknown = {"unused_distance": None, "unused_limit": None, "is_unused": False, "is_byte": False}
    indicators = [{"token_id": i, "row_norm": 1.0, **unknown} for i in range(VOCAB)]
    postings.sort(key=lambda row: (row["side"], row["token_id"], row["rank"], row["layer"], row["neuron"]))
    return {
        "projections": frame(PROJECTIONS, projections),
        "postings": frame(POSTINGS, postings),
        "token_neighbours": frame(TOKEN_NEIGHBOURS, neighbours),
        "logit_histograms": frame(LOGIT_HISTOGRAMS, histograms),
        "token_indicators": frame(TOKEN_INDICATORS, indicators),
    }


def activity_frames(seed: int = 0) -> dict[str, pl.DataFrame]:
    """Activity of every neuron on prose (4 positions) and code (8); neuron 0 of each layer is dead."""
    random = np.random.default_rng(seed)
    rows = []
    for layer in range(N_LAYERS):
        for neuron in range(D_FFN):
            for domain, n in (("code", 8), ("prose", 4)):
                n_active = 0 if neuron == 0 else int(random.integers(1, n + 1))
                rows.append(
                    {"layer": layer, "neuron": neuron, "domain": domain, "n_positions": n, "n_active": n_active}
                    | {"n_active_bos": 0, "activation_bos": 0.0, "activation_sum": float(n_active)}
                    | {"activation_abs_sum": float(n_active), "activation_square_sum": float(n_active)}
                    | {"activation_min": 0.0, "activation_max": float(n_active > 0)}
                    | {"n_above": [n_active] * 4, "first_active": None if neuron == 0 else 1}
                )
    return {"activity": frame(ACTIVITY, rows)}


def contexts_frames() -> dict[str, pl.DataFrame]:
    """One context for every neuron but the dead ones, the window around it, and a histogram of two bins."""
    rows = [
        {"layer": layer, "neuron": neuron, "rank": 1, "activation": 1.0, "sequence_id": 1, "position": 2}
        for layer in range(N_LAYERS)
        for neuron in range(1, D_FFN)
    ]
    around = {"n_before": 1, "n_after": 2, "nonzero": 0b110, "largest": 1.0, "activations": [127, -64]}
    windows = [
        {
            "layer": row["layer"],
            "neuron": row["neuron"],
            "band": "strongest",
            "rank": 1,
            "sequence_id": 1,
            "position": 2,
        }
        | around
        for row in rows
    ]
    histograms = [
        {"layer": layer, "neuron": neuron, "n_positions": 12, "first_bin": 0, "counts": [9, 3]}
        for layer in range(N_LAYERS)
        for neuron in range(D_FFN)
    ]
    return {
        "contexts": frame(CONTEXTS, rows),
        "context_windows": frame(CONTEXT_WINDOWS, windows),
        "activation_histograms": frame(ACTIVATION_HISTOGRAMS, histograms),
    }


def positions_frames() -> dict[str, pl.DataFrame]:
    """The pooled profile of every neuron over three sequences of four counted positions; none knows its position."""
    rows = [
        {"layer": layer, "neuron": neuron, "domain": "all", "n_sequences": 3, "first_position": 1}
        | {"mutual_information": 0.0, "mutual_information_corrected": 0.0, "roughness": 0.0}
        | {"n_switches": 0, "n_on_runs": 0, "n_off_runs": 0, "weakest_on": None, "weakest_off": None}
        | {"counts_64": [1, 1, 1, 1], "counts": None}
        for layer in range(N_LAYERS)
        for neuron in range(D_FFN)
    ]
    return {"positions": frame(POSITIONS, rows)}


def ngrams_frames() -> dict[str, pl.DataFrame]:
    """Tokens that trigger every neuron but the dead ones: id 1 at half of its activations, id 2 at the others."""
    alive = [(layer, neuron) for layer in range(N_LAYERS) for neuron in range(1, D_FFN)]
    covering = {f"n_covering_{percent}": 1 if percent == 50 else 2 for percent in (50, 80, 90, 95, 99)}
    ngrams = [
        {"layer": layer, "neuron": neuron, "n": 1, "n_active": 2, "n_distinct": 2} | covering for layer, neuron in alive
    ]
    triggers = [
        {"layer": layer, "neuron": neuron, "n": 1, "rank": rank, "token_ids": [rank], "n_active": 1, "n_occurrences": 2}
        | {"score": 0.5, "z_score": 1.0, "score_centred": 0.25, "rank_from_bottom": 9, "control_scores": None}
        for layer, neuron in alive
        for rank in (1, 2)
    ]
    spectrum = [{"n": 1, "n_occurrences": 2, "n_distinct": 6}]
    moved = {"n": 1, "n_active": 2, "n_distinct": 2, "n_covering_95": 2, "detected_active": 0}
    shuffled = [{"layer": layer, "neuron": neuron} | moved for layer, neuron in alive]
    return {
        "ngrams": frame(NGRAMS, ngrams),
        "triggers": frame(TRIGGERS, triggers),
        "ngram_spectrum": frame(NGRAM_SPECTRUM, spectrum),
        "shuffled_ngrams": frame(SHUFFLED_NGRAMS, shuffled),
    }


def clusters_frames() -> dict[str, pl.DataFrame]:
    """Two clusterings of the twelve neurons, by two and by three of them, and one neighbour of each neuron."""
    places = [(layer, neuron) for layer in range(N_LAYERS) for neuron in range(D_FFN)]
    sizes = (6, 4)
    clusterings = [
        {"clustering_id": i, "method": "exact", "linkage": "complete", "n_clusters_asked": n, "n_clusters": n}
        for i, n in enumerate(sizes)
    ]
    clusters = [
        {"clustering_id": i, "layer": layer, "neuron": neuron, "cluster_id": place * n // 12, "centre_cosine": 0.5}
        for i, n in enumerate(sizes)
        for place, (layer, neuron) in enumerate(places)
    ]
    neighbours = [
        {"layer": layer, "neuron": neuron, "rank": 1, "other_layer": 1 - layer, "other_neuron": neuron, "cosine": 0.25}
        for layer, neuron in places
    ]
    controls = [
        {"n_clusters_asked": n, "n_clusters": n, "n_several": n}
        | {"median_cohesion": 0.125, "p95_cohesion": 0.25, "max_cohesion": 0.5}
        for n in sizes
    ]
    return {
        "clusterings": frame(CLUSTERINGS, clusterings),
        "clusters": frame(CLUSTERS, clusters),
        "neighbours": frame(NEIGHBOURS, neighbours),
        "cluster_controls": frame(CLUSTER_CONTROLS, controls),
    }


def controls_frames() -> dict[str, pl.DataFrame]:
    """One random vector a layer, the overlaps, and the coherence of everything."""
    control = {"kind": "random", "control_id": 0}
    measured = {"coherence": 0.125, "coherence_z": 0.5, "coherence_percentile": 75.0}
    lists = {"top_token_ids": [1, 2], "top_scores": [2.0, 1.0], "bottom_token_ids": [3, 4], "bottom_scores": [-2, -1]}
    names = ("value_norm", "score_mean", "score_sd", "score_skewness", "score_kurtosis", "score_negative_share")
    overlap = {"norm_overlap": 0.5, "norm_overlap_without_bias": 0.75, "n": 6}
    layers = range(N_LAYERS)
    return {
        "controls": frame(CONTROLS, [{"layer": i} | control | dict.fromkeys(names, 0.5) | lists for i in layers]),
        "norm_overlaps": frame(
            NORM_OVERLAPS, [{"layer": i, "kind": kind} | overlap for i in layers for kind in ("value", "random")]
        ),
        "coherences": frame(COHERENCES, [{"layer": i, "neuron": j} | measured for i in layers for j in range(D_FFN)]),
        "control_coherences": frame(CONTROL_COHERENCES, [{"layer": i} | control | measured for i in layers]),
    }


def run_row(job: str, *, key: str, version: int = 1) -> pl.DataFrame:
    """A finished run."""
    row = {"run_key": key, "job": job, "job_version": version, "parameters": "{}", "dtype": "float32"}
    return frame(RUNS, [row | {"started_at": WHEN, "finished_at": WHEN, "n_rows": 0, "versions": "{}"}])


def publish_job(
    warehouse: Warehouse,
    job: str,
    frames: Mapping[str, pl.DataFrame],
    *,
    record: ModelRecord | None = None,
    text: CorpusRecord | None = None,
    key: str | None = None,
) -> dict[str, int]:
    """Stage the frames as one shard and publish them, as the pipeline does."""
    record = record or model()
    run_key = key or f"{job}-{record.name}"
    manifest = RunManifest(run_key, job, 1, record.name, None, {}, "float32", now())
    with staged_run(warehouse.staging, manifest) as staged:
        staged.write("all", frames)
        files: dict[str, list[Path]] = {name: [staged.path("all", name)] for name in frames}
        run = FinishedRun(run_row(job, key=run_key), files, needs_corpus=text is not None)
        written = publish(warehouse, Publication(record, text, [run]))
        staged.discard()
    return written


def publish_projections(warehouse: Warehouse) -> None:
    """One model with its projections, in a new file without views."""

    def make(path: Path) -> None:
        publish_job(replace(warehouse, path=path), "projections", weights_frames())

    copy_of("projections", make, warehouse.path)
    # As a writer leaves it: its lock beside it.
    warehouse.path.with_name(f"{warehouse.path.name}.lock").touch()


JOBS = ("projections", "activity", "contexts", "ngrams", "positions", "clusters", "controls")
"""What `publish_everything` publishes."""


def publish_everything(warehouse: Warehouse, *, seed: int = 0) -> None:
    """One model with everything that `JOBS` names, on one corpus."""
    if warehouse.exists():
        _publish_everything(warehouse, seed)
        return
    name = f"everything-{seed}{'' if warehouse.views is None else '-with-views'}"
    copy_of(name, lambda path: _publish_everything(replace(warehouse, path=path), seed), warehouse.path)


def _publish_everything(warehouse: Warehouse, seed: int) -> None:
    publish_job(warehouse, "projections", weights_frames(seed))
    publish_job(warehouse, "activity", activity_frames(seed), text=corpus())
    publish_job(warehouse, "contexts", contexts_frames(), text=corpus())
    publish_job(warehouse, "ngrams", ngrams_frames(), text=corpus())
    publish_job(warehouse, "positions", positions_frames(), text=corpus())
    publish_job(warehouse, "clusters", clusters_frames())
    publish_job(warehouse, "controls", controls_frames(), text=corpus())


def counterparts_frame(one: Mapping[str, pl.DataFrame], other: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The counterparts of the first model's neurons, whose projections are given, among the second's."""
    found = overlaps.counterparts(*(_lists(frames["projections"]) for frames in (one, other)))
    rows = [
        {"layer": layer, "neuron": neuron, "rank": rank, "null_99": 0.25} | row
        for (layer, neuron, rank), row in found.items()
    ]
    return frame(COUNTERPARTS, rows)


def _lists(projections: pl.DataFrame) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    return {
        (row["layer"], row["neuron"]): (row["top_token_ids"], row["bottom_token_ids"])
        for row in projections.iter_rows(named=True)
    }


def publish_counterparts(
    warehouse: Warehouse, one: str, other: str, *, seeds: tuple[int, int], key: str = "pair"
) -> dict[str, int]:
    """The counterparts of two models whose projections were made by these seeds and published by `publish_job`."""
    frames = dict(zip((one, other), map(weights_frames, seeds), strict=True))
    runs = []
    for model, against in ((one, other), (other, one)):
        run_key = f"{key}-{model}-{against}"
        manifest = RunManifest(run_key, "counterparts", 1, model, None, {}, "float32", now(), other_model=against)
        with staged_run(warehouse.staging, manifest) as staged:
            staged.write("all", {"counterparts": counterparts_frame(frames[model], frames[against])})
            files = {"counterparts": [staged.path("all", "counterparts")]}
            run = FinishedRun(run_row("counterparts", key=run_key), files, needs_corpus=False)
            runs.append(
                (staged, PairedRun(model, against, f"weights of {model}", run, projections=f"projections-{model}"))
            )
    written = publish_pair(warehouse, *(run for _, run in runs))
    for staged, _ in runs:
        staged.discard()
    return written
