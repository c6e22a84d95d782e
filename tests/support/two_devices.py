"""One tiny model measured by all jobs on one device and on another, each into a warehouse of its own."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

import neurothek
from neurothek import Neurothek
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs.registry import JOBS, NAMES, OF_MASKED, PAIR_NAMES
from neurothek.ingest.request import Contrast, PromptSet
from tests.support import ingests
from tests.support.models import Kind, build

Device = Literal["cpu", "cuda"]


def build_both(folder: Path, kind: Kind) -> Path:
    """Save a model, another one to compare it with, and a text; returns the folder."""
    build(folder / "tiny", kind, d_ffn=24)
    build(folder / "other", kind, d_ffn=24, seed=7)
    (folder / "corpora.json").write_text(json.dumps(ingests.write_corpus(folder)))
    return folder


def measured(folder: Path, kind: Kind, device: Device, **fields: Any) -> dict[str, pl.DataFrame]:
    """Every table after all jobs that such a model can be asked for, in a warehouse of its own in the folder."""
    warehouse = measure_one(folder, kind, device, **fields)
    measure_pair(warehouse, folder, device)
    if kind != "bert":
        change_neurons(neurothek.open(warehouse.path), folder, device)
    return ingests.everything(warehouse)


def measure_one(folder: Path, kind: Kind, device: Device, **fields: Any) -> Warehouse:
    """The warehouse `DEVICE.duckdb` in the folder after all jobs that need one model and change nothing in it."""
    corpora = json.loads((folder / "corpora.json").read_text())
    asked = ingests.request(tuple(corpora), device=device, jobs=NAMES if kind != "bert" else OF_MASKED, **fields)
    warehouse = ingests.open_warehouse(folder / f"{device}.duckdb")
    ingests.measure(warehouse, folder / "tiny", asked)
    return warehouse


def measure_pair(warehouse: Warehouse, folder: Path, device: Device) -> None:
    """Measure another model as well, and compare both in all ways that such models can be."""
    is_masked = "bert" in ingests.table(warehouse, "models")["architecture"].item()
    corpora, jobs = tuple(json.loads((folder / "corpora.json").read_text())), ("projections", "activity")
    asked = ingests.request(corpora, jobs=jobs[:1] if is_masked else jobs, device=device)
    ingests.measure(warehouse, folder / "other", asked)
    for job in PAIR_NAMES:
        if JOBS[job].fits_masked or not is_masked:
            ingests.compare(warehouse, "tiny", "other", jobs=(job,), device=device)


def change_neurons(door: Neurothek, folder: Path, device: Device) -> None:
    """Neurons set together and one by one, and continuations by the changed model."""
    (folder / "words.txt").write_text("the\nriver\n")
    written: dict[str, Any] = {
        "prompts": ["the school", "one two"],
        "score": f"words:{folder / 'words.txt'}",
        "continuation": 5,
    }
    for options in ({"sets": 2, **written}, {"one_by_one": True}):
        planned = door.plan_intervention("tiny", where="layer = 0 and neuron < 3", tokens=100, **options)
        door.run_intervention(replace(planned, request=replace(planned.request, device=device)))
    sets = (PromptSet("texts", ("the school", "one two", "river")), PromptSet("texts", ("a roof", "seven", "the sea")))
    contrasts = (Contrast("mine", *sets), Contrast("all", *sets, positions="all"))
    asked = replace(planned.request, jobs=("contrasts",), named=("contrasts",), contrasts=contrasts, device=device)
    ingests.measure(door.warehouse, "tiny", asked)
