"""The job `selectivity` against loops over transformers' own forward pass, planted neurons, and shuffled text."""

import math
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.traits import N_CONTROLS, N_SHUFFLES
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.jobs.selectivity.job import (
    N_LABELINGS,
    SelectivityJob,
    SelectivityObserver,
    labelings,
    selectivities,
)
from neurothek.ingest.models.transformer import Shape
from neurothek.ingest.request import IngestRequest
from tests.support import ingests, jobs
from tests.support.anatomy import float64
from tests.support.coefficients import coefficients, corpus, output_of, padded
from tests.support.models import Kind, build
from tests.support.plain import PlainModel

KINDS: tuple[Kind, ...] = ("opt", "gpt2", "llama")
LAYER, D_FFN = 1, 24


def entropy_of(counts: dict[str, int], sizes: dict[str, int]) -> float | None:
    """Entropy of a neuron's frequencies over domains."""
    frequencies = {domain: n / sizes[domain] for domain, n in counts.items()}
    total = sum(frequencies.values())
    shares = [one / total for one in frequencies.values() if one > 0] if total else []
    return -sum(share * math.log(share) for share in shares) / math.log(len(counts)) if shares else None


@pytest.mark.parametrize("kind", KINDS)
def test_entropies_equal_plain_loops(kind: Kind, tmp_path: Path) -> None:
    model = build(tmp_path / kind, kind, d_ffn=D_FFN, seed=3)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    used = ("selectivity",) if kind == "opt" else ("selectivity", "poles")
    asked = ingests.request(ingests.write_corpus(tmp_path), jobs=used, text={"tokens_per_domain": 400})
    ingests.measure(warehouse, model, asked)
    plain = PlainModel(model)
    first = len(plain.bos)
    bounds = None
    if kind != "opt":
        rows = ingests.table(warehouse, "contributions", f"layer = {LAYER}").sort("neuron")
        bounds = 3 * rows["root_mean_square"].to_numpy().astype(float)
    by_sequence: list[tuple[str, int, np.ndarray]] = []
    unsure = np.zeros(D_FFN, dtype=bool)
    for row in ingests.table(warehouse, "sequences").sort("sequence_id").to_dicts():
        m = float64(plain.anatomy.watch(torch.tensor([row["tokens"]]))[LAYER]["values in"]).reshape(-1, D_FFN)[first:]
        active = m != 0 if bounds is None else np.abs(m) > bounds
        if bounds is not None:
            unsure |= (np.abs(np.abs(m) - bounds) < 1e-5 * bounds).any(0)
        by_sequence.append((row["domain"], len(m), active.sum(0)))
    domains = list(dict.fromkeys(domain for domain, _, _ in by_sequence))
    sizes = {domain: sum(n for of, n, _ in by_sequence if of == domain) for domain in domains}
    found = ingests.table(warehouse, "selectivity", f"layer = {LAYER}").sort("neuron").to_dicts()
    assert len(found) == D_FFN
    compared = 0
    for row in found:
        neuron = row["neuron"]
        if unsure[neuron]:
            continue
        counts = {domain: int(sum(n[neuron] for of, _, n in by_sequence if of == domain)) for domain in domains}
        assert row["n_active"] == sum(counts.values())
        expected = entropy_of(counts, sizes)
        if expected is None:
            assert [row[name] for name in ("domain", "domain_share", "entropy", "p")] == [None] * 4
            continue
        compared += 1
        assert row["entropy"] == pytest.approx(expected, abs=1e-9)
        frequencies = {domain: counts[domain] / sizes[domain] for domain in domains}
        assert frequencies[row["domain"]] == max(frequencies.values())
        assert row["domain_share"] == pytest.approx(max(frequencies.values()) / sum(frequencies.values()))
    assert compared > D_FFN // 2


def made_text(n: int = 40) -> Any:  # noqa: ANN401 - a corpus
    return corpus([("abc"[number % 3], 12 + number % 5) for number in range(n)])


def folded(job: SelectivityJob, made: list[torch.Tensor], *, chunks: list[range], batch_tokens: int) -> pl.DataFrame:
    text = job.context.corpus
    partials = []
    for chunk in chunks:
        observer = SelectivityObserver(made[0].shape[1], (ActivationRule(None),), job._is_of)
        for batch, products in padded(text, chunk, made, batch_tokens=batch_tokens):
            observer.observe(batch, output_of(products))
        partials.append(observer.result())
    return job.fold(0, jobs.partials(*partials))["selectivity"]


def job_of(text: Any, d_ffn: int) -> Any:  # noqa: ANN401 - a corpus
    shape = Mock(spec=Shape, d_ffn=d_ffn, is_gated=False, has_exact_zeros=True)
    return SelectivityJob.from_options(jobs.context_of(text, shape=shape), IngestRequest())


def test_p_counts_shuffles_one_by_one_and_no_batch_changes_it() -> None:
    text = made_text()
    made = coefficients(text, 10, share=0.2, relu=True)
    job = job_of(text, 10)
    whole = folded(job, made, chunks=[range(40)], batch_tokens=1_000)
    for chunks, batch_tokens in (([range(0, 7), range(7, 40)], 50), ([range(0, 39), range(39, 40)], 1)):
        assert folded(job, made, chunks=chunks, batch_tokens=batch_tokens).equals(whole)
    drawn = labelings(text, seed=0)
    assert drawn.shape == (N_LABELINGS, 40)
    assert all(sorted(row) == sorted(text.domain_of) for row in drawn)
    assert (drawn[0] == text.domain_of).all()
    for row in whole.to_dicts():
        per_sequence = [int((of[1:, row["neuron"]] != 0).sum()) for of in made]
        lengths = [len(of) - 1 for of in made]
        entropies = []
        for labels in drawn:
            counts = dict.fromkeys(text.domains, 0)
            sizes = dict.fromkeys(text.domains, 0)
            for label, n, length in zip(labels, per_sequence, lengths, strict=True):
                counts[text.domains[label]] += n
                sizes[text.domains[label]] += length
            entropies.append(entropy_of(counts, sizes))
        true, controls, null = entropies[0], entropies[1 : 1 + N_CONTROLS], entropies[1 + N_CONTROLS :]
        assert None not in entropies
        assert len(null) == N_SHUFFLES

        def share(one: Any, null: list[Any] = null) -> float:  # noqa: ANN401 - an entropy
            return (1 + sum(bool(other <= one + 1e-12) for other in null)) / 201

        assert row["p"] == pytest.approx(share(true))
        assert row["n_shuffled_selective"] == sum(share(one) <= 0.01 for one in controls)


def test_a_planted_neuron_is_selective_and_shuffled_text_has_hardly_any() -> None:
    text = made_text(60)
    made = coefficients(text, 400, share=0.1, relu=True)
    planted = 7
    for number, of in enumerate(made):
        of[:, planted] = 1.0 if text.domains[text.domain_of[number]] == "b" else 0.0
    rows = folded(job_of(text, 400), made, chunks=[range(60)], batch_tokens=500).to_dicts()
    row = rows[planted]
    assert (row["domain"], row["domain_share"], row["entropy"]) == ("b", 1.0, 0.0)
    assert not np.signbit(row["entropy"])
    assert row["p"] == pytest.approx(1 / 201)
    assert row["n_shuffled_selective"] <= 1
    # All the others know nothing of domains: about one in a hundred is called so.
    called = sum(one["p"] <= 0.01 for one in rows if one["neuron"] != planted)
    assert called <= 12


def test_rare_and_silent_neurons_are_not_selective() -> None:
    sizes = np.full((N_LABELINGS, 2), 100.0)
    counts = np.zeros((3, N_LABELINGS, 2), dtype=np.int64)
    counts[1, ::2, 0], counts[1, 1::2, 1] = 1, 1
    counts[2, :, 0] = 5
    rows = selectivities(counts, sizes, ("code", "prose")).to_dicts()
    assert [rows[0][name] for name in ("n_active", "domain", "entropy", "p", "n_shuffled_selective")] == [
        *(0, None, None, None, None)
    ]
    # One activation is in one domain whatever the labels.
    assert (rows[1]["entropy"], rows[1]["p"], rows[1]["n_shuffled_selective"]) == (0, 1, 0)
    assert (rows[2]["domain"], rows[2]["p"]) == ("code", 1)
    one = selectivities(counts[:, :, :1], sizes[:, :1], ("all",)).to_dicts()
    assert [one[2][name] for name in ("n_active", "domain", "domain_share", "entropy", "p")] == [
        5,
        "all",
        1,
        None,
        None,
    ]


def test_views_say_what_was_measured(tmp_path: Path) -> None:
    warehouse: Warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    model = build(tmp_path / "m", "opt", d_ffn=D_FFN, seed=3)
    asked = ingests.request(ingests.write_corpus(tmp_path), jobs=("activity", "selectivity"))
    ingests.measure(warehouse, model, asked)
    with warehouse.reader() as connection:
        rows = connection.sql("from selectivity").pl().to_dicts()
        by_layer = connection.sql("from selectivity_by_layer").pl().to_dicts()
        query = "select layer, neuron, domain_entropy, selective_domain from neurons"
        flat = {(layer, neuron): rest for layer, neuron, *rest in connection.sql(query).fetchall()}
        (of_model,) = connection.sql("from traits_by_model").pl().to_dicts()
    assert len(rows) == 2 * D_FFN
    known = [row for row in rows if row["entropy"] is not None]
    assert of_model["n_tested"] == len(known)
    assert of_model["selective_share"] == pytest.approx(sum(bool(row["is_selective"]) for row in known) / len(known))
    assert of_model["shuffled_share"] == pytest.approx(sum(row["shuffled_share"] for row in known) / len(known))
    assert (of_model["n_neurons"], of_model["n_massive_layers"]) == (None, None)
    for row in rows:
        domain = row["domain"] if row["is_selective"] else None
        assert flat[row["layer"], row["neuron"]] == [row["entropy"], domain]
        assert row["is_selective"] == (None if row["p"] is None else row["p"] <= 0.01)
    for row in by_layer:
        tested = [one for one in rows if one["layer"] == row["layer"] and one["entropy"] is not None]
        n = sum(bool(one["is_selective"]) and one["domain"] == row["domain"] for one in tested)
        assert (row["n_neurons"], row["n_selective"]) == (len(tested), n)
        share = n / len(tested)
        assert row["selective_share"] == pytest.approx(share)
        z2n = 1.959963984540054**2 / len(tested)
        half = math.sqrt(z2n * share * (1 - share) + z2n**2 / 4)
        ends = [(share + z2n / 2 + sign * half) / (1 + z2n) for sign in (-1, 1)]
        assert [row["selective_share_low"], row["selective_share_high"]] == pytest.approx(ends, abs=1e-12)
        assert row["layer_selective_share"] == pytest.approx(
            sum(bool(one["is_selective"]) for one in tested) / len(tested)
        )
        assert row["layer_shuffled_share"] == pytest.approx(sum(one["shuffled_share"] for one in tested) / len(tested))
