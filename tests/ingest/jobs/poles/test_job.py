"""The job `poles` against loops over transformers' own forward pass, and against coefficients made by hand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.catalog.problems import Unsupported
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs.poles.job import PolesJob, PolesObserver
from neurothek.ingest.models.transformer import Shape
from tests.support import ingests, jobs
from tests.support.anatomy import Floats, float64
from tests.support.coefficients import coefficients, corpus, output_of, padded
from tests.support.models import Kind, build
from tests.support.plain import PlainModel

KINDS: tuple[Kind, ...] = ("gpt2", "llama", "gemma2", "gemma3")
LAYER = 1


@dataclass(frozen=True)
class Seen:
    """One sequence at one layer, counted positions only."""

    number: int
    domain: str
    first_position: int
    coefficients: Floats  # [time d_ffn]
    gates: Floats | None  # [time d_ffn]
    shares: Floats  # [time d_ffn] |m| ||v|| over the norm of what the FFN adds


@dataclass(frozen=True)
class Measured:
    kind: Kind
    warehouse: Warehouse
    seen: list[Seen]

    def rows(self, table: str) -> list[dict[str, Any]]:
        return ingests.table(self.warehouse, table, f"layer = {LAYER}").to_dicts()


def seen_in(folder: Path, warehouse: Warehouse) -> list[Seen]:
    plain = PlainModel(folder)
    body, first = plain.anatomy, len(plain.bos)
    norm, lengths = body.written_norm(LAYER), np.linalg.norm(body.value_rows(LAYER), axis=1)
    seen = []
    for row in ingests.table(warehouse, "sequences").sort("sequence_id").to_dicts():
        if len(row["tokens"]) <= first:
            continue
        of_layer = body.watch(torch.tensor([row["tokens"]]))[LAYER]
        made, output = float64(of_layer["values in"])[-len(row["tokens"]) :], float64(of_layer["values out"])
        made, output = made.reshape(-1, len(lengths)), output.reshape(-1, body.value_rows(LAYER).shape[1])
        added = output if norm is None else norm(output)
        multiplied = body.multipliers(LAYER, of_layer).reshape(made.shape)
        shares = np.abs(multiplied) * lengths / np.linalg.norm(added, axis=1, keepdims=True)
        gates = float64(of_layer["keys out"]).reshape(made.shape)[first:] if body.is_gated else None
        seen.append(Seen(row["sequence_id"], row["domain"], first, made[first:], gates, shares[first:]))
    return seen


@pytest.fixture(scope="module", params=KINDS)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    kind: Kind = request.param
    folder = tmp_path_factory.mktemp("poles")
    build(folder / kind, kind, d_ffn=24, seed=3)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    asked = ingests.request(ingests.write_corpus(folder), jobs=("poles",), text={"tokens_per_domain": 400})
    assert ingests.measure(warehouse, folder / kind, asked).jobs == ("poles",)
    return Measured(kind, warehouse, seen_in(folder / kind, warehouse))


def test_counts_by_sign(measured: Measured) -> None:
    r = {row["neuron"]: row["root_mean_square"] for row in measured.rows("contributions")}
    every = {neuron: np.concatenate([one.coefficients[:, neuron] for one in measured.seen]) for neuron in r}
    for row in measured.rows("pole_activity"):
        sign = 1 if row["pole"] == "positive" else -1
        m = [
            sign * float(value)
            for one in measured.seen
            if one.domain == row["domain"]
            for value in one.coefficients[:, int(row["neuron"])]
        ]
        of_sign = [value for value in m if value > 0]
        assert row["n_active"] == len(of_sign)
        bound = 3 * float(r[row["neuron"]])
        near = sum(abs(value - bound) < 1e-5 * bound for value in of_sign)
        assert abs(int(row["n_strong"]) - sum(value > bound for value in of_sign)) <= near
        np.testing.assert_allclose(
            [row["abs_sum"], row["square_sum"], row["largest"]],
            [sum(of_sign), sum(value**2 for value in of_sign), max(of_sign, default=0.0)],
            rtol=2e-4,
            atol=1e-6,
        )
    # The text is smaller than what is read for it: r is that of all counted positions.
    assert sum(len(one.coefficients) for one in measured.seen) < 2_048
    np.testing.assert_allclose([r[n] for n in r], [np.sqrt((every[n] ** 2).mean()) for n in r], rtol=1e-4)
    if measured.kind != "gpt2":
        assert {row["pole"] for row in measured.rows("pole_activity") if row["n_active"]} == {"positive", "negative"}


def test_cases_of_gates(measured: Measured) -> None:
    rows = measured.rows("gate_cases")
    if measured.kind == "gpt2":
        assert rows == []
        return
    assert len(rows) == 4 * 24
    for row in rows:
        case, neuron = str(row["gate_case"]), int(row["neuron"])
        n, total = 0, 0.0
        for one in measured.seen:
            assert one.gates is not None
            for m, gate in zip(one.coefficients[:, neuron], one.gates[:, neuron], strict=True):
                # act(gate) has the sign of the gate, so that up has that of m times the gate.
                up = m * gate
                if m != 0 and case == f"g{'+' if gate > 0 else '-'}u{'+' if up > 0 else '-'}":
                    n, total = n + 1, total + abs(m)
        assert row["n_positions"] == n
        np.testing.assert_allclose(float(row["abs_sum"]), total, rtol=2e-4, atol=2e-5)


def test_places_of_both_signs(measured: Measured) -> None:
    rows = measured.rows("pole_contexts")
    for neuron in range(24):
        for pole, sign in (("positive", 1), ("negative", -1)):
            peaks = {}
            for one in measured.seen:
                values = sign * one.coefficients[:, neuron]
                if values.max() > 0:
                    peaks[one.number] = values
            found = [row for row in rows if row["neuron"] == neuron and row["pole"] == pole]
            expected = sorted((float(values.max()) for values in peaks.values()), reverse=True)[:10]
            assert sorted(int(row["rank"]) for row in found) == list(range(1, len(expected) + 1))
            assert len({row["sequence_id"] for row in found}) == len(found)
            for row in found:
                number, activation = int(row["sequence_id"]), float(row["activation"])
                place = int(row["position"]) - measured.seen[0].first_position
                # Its place is where the sequence is strongest, and its rank what the strength deserves.
                slack = 1e-3 * abs(activation) + 1e-6
                assert abs(sign * activation - peaks[number][place]) < slack
                assert abs(peaks[number].max() - peaks[number][place]) < slack
                assert abs(sign * activation - expected[int(row["rank"]) - 1]) < slack


def test_shares_of_the_output(measured: Measured) -> None:
    for row in measured.rows("contributions"):
        neuron = int(row["neuron"])
        shares = [
            (position, float(share))
            for one in measured.seen
            for position, share in enumerate(one.shares[:, neuron], start=one.first_position)
        ]
        later = [share for position, share in shares if position > 0]
        assert row["n_positions"] == len(shares)
        every = [share for _, share in shares]
        expected = [float(np.mean(every)), max(every), float(np.mean(later)), max(later)]
        names = ("contribution_mean", "contribution_max", "contribution_mean_later", "contribution_max_later")
        np.testing.assert_allclose([float(row[name]) for name in names], expected, rtol=1e-3)


@pytest.mark.parametrize("has_bos", [True, False])
def test_no_chunk_or_batch_changes_a_row(has_bos: bool) -> None:
    lengths = [("a", 9), ("b", 40), ("a", 17), ("b", 2), ("c", 1), ("a", 40), ("c", 3)]
    text = corpus(lengths, has_bos=has_bos)
    made = coefficients(text, 12, share=0.4, relu=False)
    gates = coefficients(text, 12, share=0.5, relu=False, seed=1)
    scales, norms = torch.linspace(0.1, 1, 12), torch.ones(12)
    job = PolesJob(jobs.context_of(text, shape=gated()))

    def folded(chunks: list[range], batch_tokens: int) -> dict[str, pl.DataFrame]:
        partials = []
        for chunk in chunks:
            observer = PolesObserver(scales, norms)
            shown = padded(text, chunk, made, batch_tokens=batch_tokens)
            of_gates = padded(text, chunk, gates, batch_tokens=batch_tokens)
            for (batch, products), (_, gate) in zip(shown, of_gates, strict=True):
                observer.observe(batch, output_of(products, gate, torch.ones(*products.shape[:2], 1)))
            partials.append(observer.result())
        return job.fold(2, jobs.partials(*partials))

    whole = folded([range(7)], 1_000)
    for chunks, batch_tokens in (([range(0, 2), range(2, 7)], 60), ([range(0, 5), range(5, 7)], 1)):
        for name, frame in folded(chunks, batch_tokens).items():
            # Values are multiples of 1/16, whose sums are exact in any order.
            assert frame.equals(whole[name]), name
    row = whole["contributions"].row(4, named=True)
    counted = np.concatenate([sequence[int(has_bos) :, 4].numpy() for sequence in made])
    later = np.concatenate([sequence[1:, 4].numpy() for sequence in made])
    assert row["contribution_mean"] == pytest.approx(np.abs(counted).mean())
    assert row["contribution_mean_later"] == pytest.approx(np.abs(later).mean())


def gated() -> Shape:
    return Mock(spec=Shape, is_gated=True, d_ffn=12)


def test_a_model_without_negative_coefficients_has_no_poles(tmp_path: Path) -> None:
    build(tmp_path / "opt", "opt")
    corpora = ingests.write_corpus(tmp_path)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    named = ingests.request(corpora, jobs=("poles",), named=("poles",))
    with pytest.raises(Unsupported, match=r"no coefficient of opt is ever below 0"):
        ingests.measure(warehouse, tmp_path / "opt", named)
    everything = ingests.request(corpora, jobs=("activity", "poles"))
    assert ingests.measure(warehouse, tmp_path / "opt", everything).jobs == ("activity",)
