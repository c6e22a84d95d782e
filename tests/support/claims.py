"""Made-up families for claims: rows by the name of the statement or view that would be asked."""

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from neurothek.queries.papers.family import Family
from neurothek.queries.papers.registry import PAPERS

CLAIMS = tuple(claim for paper in PAPERS.values() for claim in paper.claims)
ALL_JOBS = frozenset(job for claim in CLAIMS for job in claim.jobs)

SIZES = (("0.7m", 10, 4), ("2m", 20, 6), ("5m", 30, 8))
VARIANTS = (
    ("0.7m-seed1", "seed 1", "0.7m"),
    ("2m-nopos", "no-position", "2m"),
    ("2m-step250", "step 250", "2m"),
    ("2m-step1000", "step 1000", "2m"),
    ("2m-postnorm", "post-norm", "2m"),
    *((f"{size}-step0", "step 0", size) for size, _, _ in SIZES),
)
PER_LAYER = 400


def family(
    rows: Mapping[str, pl.DataFrame],
    sizes: Sequence[str],
    *,
    variants: Sequence[tuple[str, str, str | None]] = (),
    jobs: frozenset[str] = ALL_JOBS,
    n_parameters: Mapping[str, int] | None = None,
) -> Family:
    """A family that knows the rows of some statements and views, and refuses others."""
    return Family(
        name="made",
        sizes=tuple(sizes),
        variants=tuple(variants),
        left_out={},
        jobs=dict.fromkeys((*sizes, *(model for _, model, _ in variants)), jobs),
        read=lambda name, *_: rows[name],
        n_parameters=n_parameters or {},
    )


def voita_family(*, is_true: bool) -> Family:
    """A family in which all that Voita et al. claim is so, or nothing."""
    suppressing = pl.DataFrame({"suppresses": [i % 10 != 0 for i in range(200)] if is_true else [True, False] * 20})
    group = [" Walk", "walked"] if is_true else [" Walk", "house"]
    rows = {
        "claimed_neurons": counted(_neurons(is_true=is_true)),
        "suppression": suppressing.with_columns(pl.lit(0.5 if is_true else 0.9).alias("expected")),
        "token_detectors": pl.DataFrame(
            {"model": ["made-5m"] * 40, "address": ["a"] * 40, "detected_tokens": [group] * 40}
        ),
        "detected_by_layer": pl.DataFrame(
            {"model": ["made-5m"] * 2, "layer": [0, 1], "n_detected": [60, 60], "n_new": [60, 50 if is_true else 10]}
        ),
        "detectors_by_minimum": pl.DataFrame(
            {"model": ["made-5m"] * 2, "n": [2, 2], "least_occurrences": [5, 10], "frequent_share": [0.4, 0.3]}
        ),
        "detectors_by_layer": pl.DataFrame(
            [
                {"model": f"made-{name}", "n": n, "status": "labelled" if is_true else "cannot be labelled"}
                | {"n_detectors": 20 * size if is_true else None, "n_neurons": 2_000}
                for n in (2, 3)
                for name, size, _ in SIZES
            ]
        ),
        "claimed_positional_values": pl.DataFrame(
            [
                {"model": f"made-{name}", "layer": layer, "n": 20, "difference": 0.1 if is_true else -0.1, "half": 0.05}
                for name, _, _ in SIZES
                for layer in range(2)
            ]
        ),
        "position_teams": pl.DataFrame({"is_one": [is_true, False]}),
        "claimed_text": texts([f"made-{name}" for name, *_ in (*SIZES, *VARIANTS)]),
    }
    return family(
        rows,
        [f"made-{name}" for name, _, _ in SIZES],
        variants=[(variant, f"made-{name}", f"made-{plain}") for name, variant, plain in VARIANTS],
        # The largest is one of which claims about large models are asked.
        n_parameters={"made-0.7m": 700_000, "made-2m": 2_000_000, "made-5m": 7_000_000_000},
    )


def texts(models: Sequence[str], *, n_full_sequences: int = 400, n_active_enough: int = 900) -> pl.DataFrame:
    """The text that models were run on, as `Family.texts` says it."""
    of = {"n_tokens": 100_000, "sequence_length": 256, "n_full_sequences": n_full_sequences}
    of |= {"n_alive": 1_000, "n_active_enough": n_active_enough, "median_active": 40}
    return pl.DataFrame([{"model": model, **of} for model in models])


def of_neurons(
    neurons: Sequence[Mapping[str, Any]], sizes: Sequence[str], variants: Sequence[tuple[str, str, str | None]] = ()
) -> Family:
    """A family of single neurons, run on text that suffices."""
    models = [*sizes, *(model for _, model, _ in variants)]
    return family({"claimed_neurons": counted(neurons), "claimed_text": texts(models)}, sizes, variants=variants)


def counted(neurons: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Single neurons as `claimed_neurons.sql` counts them, by a loop."""
    sums: dict[tuple[Any, ...], dict[str, float]] = defaultdict(lambda: dict.fromkeys(_SUMS, 0))
    for one in neurons:
        is_enough = one["n_active"] >= 100
        is_covered = one["unigrams_95"] <= 5 if is_enough else None
        key = (one["model"], one["layer"], one["n_layers"], one["is_dead"], is_covered)
        of = sums[*key, *(one[name] for name in _KEYS[5:])]
        of["n"] += 1
        of["frequency_n"] += 1
        of["frequency_sum"] += one["frequency"]
        of["frequency_squares"] += one["frequency"] ** 2
        if is_enough and one["unigrams_95"] > 0:
            of["coverage_n"] += 1
            of["coverage_sum"] += math.log10(one["unigrams_95"])
            of["coverage_squares"] += math.log10(one["unigrams_95"]) ** 2
    return pl.DataFrame([dict(zip(_KEYS, key, strict=True)) | of for key, of in sums.items()], infer_schema_length=None)


_KEYS = (
    *("model", "layer", "n_layers", "is_dead", "is_covered_by_few"),
    *("is_token_detector", "position_kind", "position_strength", "is_smooth"),
)
_SUMS = ("n", *(f"{of}_{name}" for of in ("frequency", "coverage") for name in ("n", "sum", "squares")))


def _neurons(*, is_true: bool) -> list[dict[str, Any]]:
    """Neurons by the share of each label that a layer of a model gets."""
    draw = random.Random(1)
    of_size = {name: (size, n) for name, size, n in SIZES}
    models: list[tuple[str, str | None, int, int]] = [(name, None, size, n) for name, size, n in SIZES]
    models += [(name, variant, *of_size[plain]) for name, variant, plain in VARIANTS]
    rows = []
    for name, variant, size, n_layers in models:
        for layer in range(n_layers):
            of = _shares(is_true, size=size, layer=layer, n_layers=n_layers, variant=variant)
            place = {"model": f"made-{name}", "layer": layer, "n_layers": n_layers}
            rows += [place | _neuron(of, draw) for _ in range(PER_LAYER)]
    return rows


def _shares(is_true: bool, *, size: int, layer: int, n_layers: int, variant: str | None) -> dict[str, float]:
    early, third, late = 2 * layer + 1 <= n_layers, 3 * (2 * layer + 1) <= 2 * n_layers, 3 * layer >= 2 * n_layers
    if variant == "step 0":
        # Fresh neurons differ by position, though not smoothly; where nothing is true even that.
        return {"dead": 0.0, "rare": 0.5, "covered": 0.0, "detector": 0.0, "positional": 1.0, "oscillatory": 0.0} | {
            "smooth": float(not is_true),
            "strong": 0.0,
        }
    if not is_true:
        return {"dead": 0.0 if early else 0.4 - size / 100, "rare": 0.5, "detector": size / 4000} | {
            "covered": 0.5 if variant == "post-norm" else 0.02,
            "positional": 0.03 * (layer + 1),
            "oscillatory": size / 80,
            "smooth": 1.0,
            "strong": 0.1 if third else 0.5,
        }
    covered = size / 100
    if variant == "post-norm":
        return {"dead": 0.0, "rare": 0.3, "covered": 0.0, "detector": 0.0, "positional": 0.1} | {
            "oscillatory": 0.1,
            "smooth": 1.0,
            "strong": 0.1,
        }
    oscillates = 0.0 if variant in ("no-position", "step 250", "step 1000") else 0.95 - size / 80
    return {"dead": size / 100 if early else 0.0, "rare": 0.02 if early else 0.3, "covered": covered} | {
        "detector": size / 400,
        "positional": 0.5 if third else 0.2 if late else 0.02,
        "oscillatory": oscillates,
        "smooth": 1.0,
        "strong": 0.9 if third else 0.5,
    }


def _neuron(of: Mapping[str, float], draw: random.Random) -> dict[str, Any]:
    kind = "oscillatory" if draw.random() < of["oscillatory"] else "one extreme"
    if draw.random() >= of["positional"]:
        kind = "not positional"
    return {
        "is_dead": draw.random() < of["dead"],
        "frequency": of["rare"] * (1 - of["covered"]) * draw.uniform(0.8, 1.2),
        "n_active": 500,
        "unigrams_95": 3 if draw.random() < of["covered"] else 900,
        "is_token_detector": draw.random() < of["detector"],
        "is_smooth": draw.random() < of["smooth"],
        "position_kind": kind,
        "position_strength": kind if kind == "not positional" else "strong" if draw.random() < of["strong"] else "weak",
    }
