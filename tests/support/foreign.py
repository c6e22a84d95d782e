"""Catalogs as other people publish them, written to a folder by plain code."""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from neurothek import Neurothek

Line = dict[str, Any]


def write_lines(path: Path, lines: Iterable[object]) -> None:
    """JSON lines, packed if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def feature(model: str, layer: int, neuron: int, **fields: object) -> Line:
    """A line of Neuronpedia's features, with what such lines have besides."""
    usual: Line = {
        "modelId": model,
        "layer": str(layer),
        "index": str(neuron),
        "creatorId": "x",
        "sourceSetName": "neurons",
    }
    return usual | {"hasVector": False, "vector": [], "freq_hist_data_bar_heights": [1.0, 2.5]} | fields


def explanation(model: str, layer: int, neuron: int, text: str, **fields: object) -> Line:
    """A line of its explanations."""
    names: Line = {"id": f"e{layer}-{neuron}", "modelId": model, "layer": str(layer), "index": str(neuron)}
    return (
        names | {"description": text, "typeName": "oai_token-act-pair", "explanationModelName": "gpt-4o-mini"} | fields
    )


def write_neuronpedia(
    folder: Path,
    model: str,
    features: Sequence[Line],
    explanations: Sequence[Line] = (),
    *,
    shape: tuple[int, int] | None = None,
    packed: bool = True,
    batch: int = 7,
) -> Path:
    """An export: a folder per layer, with files of `batch` lines; returns the folder."""
    suffix = ".jsonl.gz" if packed else ".jsonl"
    for name, lines in (("features", features), ("explanations", explanations)):
        for layer in sorted({int(line["layer"]) for line in lines}):
            own = [line for line in lines if int(line["layer"]) == layer]
            for number in range(0, len(own), batch):
                write_lines(
                    folder / str(layer) / name / f"batch-{number // batch}{suffix}", own[number : number + batch]
                )
    for layer in {line["layer"] for line in (*features, *explanations)}:
        about: Mapping[str, Line] = {
            "source": {
                "modelId": model,
                "id": layer,
                "num_prompts": 24,
                "num_tokens_in_prompt": 128,
                "dataset": "a/pile",
            },
            "release": {"name": "neurons-v1"},
        }
        for name, fields in about.items():
            write_lines(folder / layer / f"{name}.jsonl", [fields])
        if shape is not None:
            fields = {"id": model, "layers": shape[0], "neuronsPerLayer": shape[1]}
            write_lines(folder / layer / "model.jsonl", [fields])
    return folder


def measured_features(door: Neurothek, model: str, *, theirs: str | None = None) -> list[Line]:
    """What was measured here, as if somebody else had: the first ten tokens of each list, and how often."""
    query = (
        "select layer, neuron, side, rank, token from neuron_tokens where model = $model and rank <= 10 order by all"
    )
    tokens = door.sql(query, {"model": model})
    lists: dict[tuple[int, int, str], list[str]] = {}
    for layer, neuron, side, _, token in tokens.rows():
        lists.setdefault((layer, neuron, side), []).append(token)
    counts = door.sql(
        "select layer, neuron, n_active, n_positions from store.neuron_facts inner join store.models as models"
        " on models.model_id = neuron_facts.set_id where models.name = $model order by all",
        {"model": model},
    )
    return [
        feature(
            theirs or model,
            layer,
            neuron,
            pos_str=lists[layer, neuron, "promoted"],
            neg_str=lists[layer, neuron, "suppressed"],
            frac_nonzero=n_active / n_positions,
            maxActApprox=1.5,
        )
        for layer, neuron, n_active, n_positions in counts.rows()
    ]


def write_gluscope(folder: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """A dataset of GLUScope with the columns that are read, and some that are not."""
    (folder / "data").mkdir(parents=True)
    pl.DataFrame(list(rows)).write_parquet(folder / "data" / "train-00000-of-00001.parquet")
    return folder


def glu_row(layer: int, neuron: int, shares: Sequence[float], largest: Sequence[float]) -> dict[str, object]:
    """A row of it: shares and largest activations by the signs of gate and up projection."""
    cases = ("gate+_in+", "gate+_in-", "gate-_in+", "gate-_in-")
    row: dict[str, object] = {"layer": layer, "neuron": neuron}
    for case, share, value in zip(cases, shares, largest, strict=True):
        row |= {f"{case}_freq": float(share), f"{case}_hook_post_max_values": [float(value), value / 2]}
        row |= {f"{case}_hook_post_max_indices": [1, 2], f"{case}_hook_post_mean": value / 4}
    return row


def write_openai(folder: Path, layer: int, neuron: int, **parts: object) -> None:
    """The files of one neuron: `explanations` are texts with scores, `excerpts` activations, the rest tokens."""
    own = {"dataclass_name": "NeuronId", "layer_index": layer, "neuron_index": neuron}
    if "explanations" in parts:
        scored = [
            {
                "dataclass_name": "ScoredExplanation",
                "explanation": text,
                "scored_simulation": {"ev_correlation_score": score, "scored_sequence_simulations": []},
            }
            for text, score in parts["explanations"]  # type: ignore[attr-defined] # pairs, as its name says
        ]
        line = {"dataclass_name": "NeuronSimulationResults", "neuron_id": own, "scored_explanations": scored}
        write_lines(folder / "explanations" / str(layer) / f"{neuron}.jsonl", [line])
    if "excerpts" in parts:
        excerpts = [{"tokens": ["a"], "activations": values} for values in parts["excerpts"]]  # type: ignore[attr-defined]
        record = {"dataclass_name": "NeuronRecord", "neuron_id": own, "most_positive_activation_records": excerpts}
        write_lines(folder / "collated-activations" / str(layer) / f"{neuron}.json", [record])
    if "promoted" in parts:
        weights = {
            f"output_{side}": {"tokens": parts[name], "strengths": [1.0]}
            for side, name in (("positive", "promoted"), ("negative", "suppressed"))
        }
        path = folder / "related-tokens" / "weight-based" / str(layer) / f"{neuron}.json"
        write_lines(path, [{"dataclass_name": "WeightBasedSummaryOfNeuron", **weights}])
