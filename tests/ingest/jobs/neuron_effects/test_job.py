"""The job from end to end: every number against a model without the neuron, and neurons that are added later."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Conflict, Invalid
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.jobs.neuron_effects import job as effects_job
from neurothek.ingest.jobs.neuron_effects import single_losses
from tests.support import ingests
from tests.support.anatomy import PLACES, loaded
from tests.support.models import Kind, build

pytestmark = pytest.mark.xdist_group("neuron_effects")

D_FFN, TOKENS = 24, 60
KINDS: tuple[Kind, ...] = ("opt", "llama")
ASKED: dict[str, Any] = {"tokens": TOKENS, "one_by_one": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one_by_one")
    ingests.measured_models(folder, KINDS)
    return folder


@pytest.fixture(scope="module")
def door(folder: Path) -> Neurothek:
    return neurothek.open(folder / "w.duckdb")


def texts(door: Neurothek, model: str) -> list[tuple[str, list[int]]]:
    """The first sequences of every domain."""
    query = """
        select sequences.domain, sequences.tokens
        from store.sequences as sequences
        inner join store.runs as runs on runs.corpus_id = sequences.corpus_id and runs.job = 'activity'
        inner join store.models as models on models.model_id = runs.model_id and models.name = $model
        order by sequences.sequence_id
    """
    read: dict[str, int] = {}
    found: list[tuple[str, list[int]]] = []
    for row in door.sql(query, {"model": model}).to_dicts():
        if read.get(row["domain"], 0) < TOKENS:
            # Only a first sequence that is longer than what is to be read is cut.
            tokens = list(row["tokens"]) if row["domain"] in read else list(row["tokens"])[:TOKENS]
            read[row["domain"]] = read.get(row["domain"], 0) + len(tokens)
            found.append((row["domain"], tokens))
    return found


def loss_without(
    folder: Path, kind: Kind, ids: list[tuple[str, list[int]]], neuron: tuple[int, int] | None
) -> np.ndarray:
    model = loaded(folder / kind)
    places = PLACES[model.config.model_type]
    if neuron is not None:
        weight = model.get_submodule(f"{places.blocks}.{neuron[0]}.{places.values}").weight
        assert isinstance(weight, Tensor)
        with torch.no_grad():
            (weight[neuron[1]] if places.is_transposed else weight[:, neuron[1]]).zero_()
    losses = []
    for _, sequence in ids:
        with torch.no_grad():
            log_p = model(torch.tensor(sequence)[None]).logits[0].double().log_softmax(-1)
        losses += [-float(log_p[place, token]) for place, token in enumerate(sequence[1:])]
    return np.array(losses)


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])])
def test_every_effect_is_that_of_a_model_without_the_neuron(door: Neurothek, folder: Path, kind: Kind) -> None:
    planned = door.plan_intervention(kind, where="layer = 1 and neuron < 3", **ASKED)
    assert planned.hours is not None
    assert 0 < planned.hours < 1
    answer = door.run_intervention(planned)
    ids = texts(door, kind)
    before = loss_without(folder, kind, ids, None)
    domain_of = np.array([domain for domain, sequence in ids for _ in sequence[1:]])
    rows = door.sql(f"select * from neuron_effects where model = '{kind}'").to_dicts()
    parts = door.sql(f"select * from neuron_effects_by_domain where model = '{kind}'").to_dicts()
    assert len(parts) == 2 * len(rows)
    controls = {row["neuron"] for row in rows if row["is_control"]}
    firing = door.sql(f"select neuron from neurons where model = '{kind}' and layer = 1 and not never_active")
    assert controls <= set(firing["neuron"].to_list())
    assert len(controls) == min(20, firing.height)
    assert {row["neuron"] for row in rows} == controls | {0, 1, 2}
    for row in rows:
        after = loss_without(folder, kind, ids, (row["layer"], row["neuron"]))
        assert row["n_tokens"] == len(before)
        assert row["effect_on_loss"] == pytest.approx((after - before).mean(), abs=2e-6)
        for part in parts:
            if (part["layer"], part["neuron"]) == (row["layer"], row["neuron"]):
                at = domain_of == part["domain"]
                assert (part["n_tokens"], part["is_control"]) == (at.sum(), row["is_control"])
                assert part["effect_on_loss"] == pytest.approx((after - before)[at].mean(), abs=2e-6)
    assert answer.neurons is not None
    assert set(answer.neurons["neuron"]) == {0, 1, 2}
    assert [section.frame.columns for section in answer.sections()[1:]] == [["neuron", "long", "short"]]


@pytest.mark.long
def test_neurons_are_added_and_none_is_measured_twice(door: Neurothek, monkeypatch: pytest.MonkeyPatch) -> None:
    door.run_intervention(door.plan_intervention("opt", where="layer = 0 and neuron in (4, 6)", **ASKED))
    before = door.sql("select * from neuron_effects where model = 'opt'").to_dicts()
    measured: list[tuple[int, int]] = []
    real = single_losses.without_each

    def counted(transformer: object, corpus: object, layer: int, neurons: list[int], **named: Any) -> object:
        measured.extend((layer, neuron) for neuron in neurons)
        return real(transformer, corpus, layer, neurons, **named)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(effects_job, "without_each", counted)
    again = door.plan_intervention("opt", where="layer = 0 and neuron = 4", **ASKED)
    assert again.hours == 0
    door.run_intervention(again)
    assert measured == []
    known = {(row["layer"], row["neuron"]) for row in before}
    new = next((0, neuron) for neuron in range(D_FFN) if (0, neuron) not in known)
    door.run_intervention(door.plan_intervention("opt", neurons=[f"opt/L0N{new[1]}", "opt/L0N4"], **ASKED))
    assert measured == [new]
    after = door.sql("select * from neuron_effects where model = 'opt'").to_dicts()
    assert len(after) == len(before) + 1
    kept = {(row["layer"], row["neuron"]): row["effect_on_loss"] for row in after}
    assert all(kept[row["layer"], row["neuron"]] == row["effect_on_loss"] for row in before)
    with pytest.raises(Conflict, match="measured with --tokens 60; repeat these, or remove them first"):
        door.run_intervention(door.plan_intervention("opt", where="neuron = 9", tokens=61, one_by_one=True))
    found = [part for part in door.verify("opt", sample=99) if isinstance(part, Agreement)]
    (part,) = (part for part in found if part.table == "neuron_effects")
    assert (part.n_rows, part.n_different) == (len(after), 0)


def test_a_neuron_that_never_fires_is_worth_nothing_to_the_bit(folder: Path, tmp_path: Path) -> None:
    import safetensors.torch  # noqa: PLC0415 - of one test

    build(tmp_path / "opt", "opt", d_ffn=D_FFN)
    weights = safetensors.torch.load_file(tmp_path / "opt" / "model.safetensors")
    weights["model.decoder.layers.0.fc1.bias"][:2] = -1000
    safetensors.torch.save_file(weights, tmp_path / "opt" / "model.safetensors", {"format": "pt"})
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    corpora = (f"long={folder / 'long.txt'}",)
    ingests.measure(warehouse, tmp_path / "opt", ingests.request(corpora, jobs=("projections", "activity")))
    door = neurothek.open(tmp_path / "w.duckdb")
    answer = door.run_intervention(door.plan_intervention("opt", where="layer = 0 and neuron < 4", **ASKED))
    assert answer.neurons is not None
    by_neuron = {row["neuron"]: row for row in answer.neurons.to_dicts()}
    for dead in (0, 1):
        assert (by_neuron[dead]["effect_on_loss"], by_neuron[dead]["kl"]) == (0.0, 0.0)
        assert not by_neuron[dead]["is_control"]
    told = door.sql("select neuron, effect_on_loss from neurons where layer = 0 and neuron < 4 order by neuron")
    assert told["effect_on_loss"].to_list() == [by_neuron[neuron]["effect_on_loss"] for neuron in range(4)]


@pytest.mark.parametrize(
    "asked", [{"set": 3}, {"pre": True}, {"set": "mean"}, {"at": "0-3"}, {"prompts": ["river"], "unwanted": "code"}]
)
def test_one_by_one_neurons_are_turned_off_and_nothing_else(door: Neurothek, asked: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=r"one_by_one=True is not valid"):
        door.plan_intervention("opt", where="neuron = 1", **ASKED, **asked)
