"""How long turning neurons off one by one is said to take: by hand from the products that it would do."""

from pathlib import Path

import pytest

import neurothek
from catalog.progress import Silent
from ingest.jobs.neuron_effects.controls import N_CONTROLS
from ingest.pipeline import neuron_hours
from ingest.planning.agenda import prepare_model
from ingest.planning.timing import block_flops
from tests.support import ingests


def test_hours_are_products_by_their_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingests.measured_models(tmp_path, ("opt",))
    door = neurothek.open(tmp_path / "w.duckdb")
    monkeypatch.setattr(neuron_hours, "product_rate", lambda transformer: 1e6)
    planned = door.plan_intervention("opt", where="layer = 1 and neuron < 3", tokens=60, one_by_one=True)
    prepared = prepare_model(door.warehouse, planned.request, planned.source, progress=Silent())
    shape, corpus = prepared.work.transformer.shape, prepared.corpus
    assert corpus is not None
    n_tokens = 0
    for domain in range(len(corpus.domains)):
        read = 0
        for number in range(corpus.n_sequences):
            if corpus.domain_of[number] == domain and read < 60:
                read += len(corpus.sequence(number))
        n_tokens += read
    # Three neurons and twenty random ones, each through the last of two layers and the head.
    each = block_flops(shape, corpus.sequence_length) + 2 * shape.vocab_size * shape.d_model
    assert planned.hours == pytest.approx(1.5 * n_tokens * (3 + N_CONTROLS) * each / 1e6 / 3600)
    assert any(sentence.startswith("about ") for sentence in planned.told())
    door.carry_out(planned)
    again = door.plan_intervention("opt", where="layer = 1 and neuron < 3", tokens=60, one_by_one=True)
    assert again.hours == 0
