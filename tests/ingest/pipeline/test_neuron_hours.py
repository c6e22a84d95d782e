"""How long turning neurons off one by one is said to take: by hand from two timed batches."""

from pathlib import Path

import pytest

import neurothek
from neurothek.catalog.progress import Silent
from neurothek.ingest.forward.batches import RightPadded
from neurothek.ingest.jobs.neuron_effects.single_losses import AT_ONCE, N_CONTROLS
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.pipeline import neuron_hours
from neurothek.ingest.planning.agenda import prepare_model
from tests.support import ingests

BLOCK, READING = 3.0, 5.0
"""Seconds of a batch through one block, and of what is read from the stream at the end."""


def test_hours_are_blocks_and_readings_of_every_neuron(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingests.measured_models(tmp_path, ("opt",))
    door = neurothek.open(tmp_path / "w.duckdb")

    def timed(transformer: Transformer, batch: RightPadded, *, n_neurons: int) -> float:
        return transformer.shape.n_layers * BLOCK + READING + n_neurons * (BLOCK + READING)

    monkeypatch.setattr(neuron_hours, "batch_seconds", timed)
    where = "layer = 0 and neuron < 3 or layer = 1 and neuron < 14"
    planned = door.plan_intervention("opt", where=where, tokens=60, one_by_one=True)
    prepared = prepare_model(door.warehouse, planned.request, planned.source, progress=Silent())
    corpus = prepared.corpus
    assert corpus is not None
    n_ids, in_first_batch = 0, 0
    for domain in range(len(corpus.domains)):
        read = 0
        for number in range(corpus.n_sequences):
            if corpus.domain_of[number] == domain and read < 60:
                # A first sequence that is longer than what is to be read is cut.
                read += min(len(corpus.sequence(number)), 60) if read == 0 else len(corpus.sequence(number))
        n_ids += read
        in_first_batch = in_first_batch or read
    seconds = 0.0
    for layer, asked in ((0, 3), (1, 14)):
        neurons = asked + N_CONTROLS
        groups = -(-neurons // AT_ONCE)
        # Two layers: the untouched model runs through both, a neuron from its own on.
        seconds += neurons * ((2 - layer) * BLOCK + READING) + groups * (2 * BLOCK + READING)
    assert planned.hours == pytest.approx(seconds * n_ids / in_first_batch / 3600)
    assert any(sentence.startswith("about ") for sentence in planned.sentences())
    door.run_intervention(planned)
    assert door.plan_intervention("opt", where=where, tokens=60, one_by_one=True).hours == 0


def test_a_batch_takes_time_and_more_with_neurons_beside(tmp_path: Path) -> None:
    ingests.measured_models(tmp_path, ("opt",))
    door = neurothek.open(tmp_path / "w.duckdb")
    planned = door.plan_intervention("opt", where="neuron < 3", tokens=60, one_by_one=True)
    assert planned.hours is not None
    assert 0 < planned.hours < 0.1
