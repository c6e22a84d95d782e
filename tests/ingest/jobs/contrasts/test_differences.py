"""Contrasts of tiny models against plain loops over the hooked activations, planted neurons, and shuffled labels."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean, pstdev, stdev
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neurothek.catalog.tables.contrasts import SIGNIFICANT, Contrasted
from neurothek.ingest.corpora.prompts import Prompt, whole_prompts
from neurothek.ingest.jobs.contrasts import differences
from neurothek.ingest.jobs.contrasts.differences import (
    N_CONTROLS,
    benjamini_hochberg,
    contrasted,
    n_significant,
    shuffled_labels,
)
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support import reads
from tests.support.anatomy import Anatomy, float64, loaded
from tests.support.models import Kind, build, edit_tensors

KINDS: tuple[Kind, ...] = ("opt", "gpt2", "llama", "bert")
D_FFN, N_SHUFFLES = 24, 40
A = ("the school is near the river", "one two three", "a new roof", "river bus", "the old school bus is new")
B = ("seven", "the bus is old", "near the sea the river ends", "no school", "two old roofs", "tea or coffee")


@dataclass(frozen=True)
class Opened:
    folder: Path
    transformer: Transformer
    tokenizer: Tokenizer

    def prompts(self, texts: Sequence[str]) -> list[Prompt]:
        shape = self.transformer.shape
        return whole_prompts(
            texts, self.tokenizer, context_length=shape.context_length, is_masked=shape.is_masked, option="a"
        )

    def contrast(
        self, a: Sequence[str], b: Sequence[str], positions: Literal["last", "all"] = "last", **settings: int
    ) -> Contrasted:
        return contrasted(self.transformer, self.prompts(a), self.prompts(b), positions=positions, **settings)  # type: ignore[arg-type]  # numbers of it


def opened(folder: Path) -> Opened:
    return Opened(folder, open_transformer(find(str(folder))), load(folder))


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(build(tmp_path_factory.mktemp("contrast") / request.param, request.param, d_ffn=D_FFN, seed=2))


@pytest.fixture(scope="module")
def opt(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(build(tmp_path_factory.mktemp("opt") / "opt", "opt", d_ffn=D_FFN, seed=2))


def activations_by_hand(
    model: Opened, texts: Sequence[str], positions: Literal["last", "all"]
) -> list[dict[tuple[int, int], float]]:
    """Of every prompt the activation of each neuron, from hooks on transformers' own model, one prompt at a time."""
    anatomy, rows = Anatomy(loaded(model.folder)), []
    tokenizer = model.tokenizer
    for text in texts:
        own = tokenizer.encode([text])[0].tolist()
        before = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        is_closed = model.transformer.shape.is_masked and tokenizer.closing_id is not None
        ids = [*before, *own, *([tokenizer.closing_id] if is_closed else [])]
        first, last = len(before), len(before) + len(own) - 1
        row = {}
        for layer, seen in enumerate(anatomy.watch(torch.tensor([ids]))):
            values = float64(seen["values in"]).reshape(len(ids), -1)
            for neuron in range(values.shape[1]):
                along = values[first : last + 1, neuron].tolist()
                row[layer, neuron] = along[-1] if positions == "last" else mean(along)
        rows.append(row)
    return rows


def difference(values: Sequence[float], labels: Sequence[bool]) -> float:
    return mean(v for v, is_a in zip(values, labels, strict=True) if is_a) - mean(
        v for v, is_a in zip(values, labels, strict=True) if not is_a
    )


@pytest.mark.parametrize("positions", ["last", "all"])
def test_every_number_is_that_of_a_loop(model: Opened, positions: Literal["last", "all"]) -> None:
    measured = model.contrast(A, B, positions, n_shuffles=N_SHUFFLES, seed=3)
    by_hand = activations_by_hand(model, [*A, *B], positions)
    labelings = shuffled_labels(len(A), len(B), N_SHUFFLES, seed=3).tolist()
    z_by_chance: list[float] = []
    expected: dict[tuple[int, int], tuple[list[float], float | None]] = {}
    for neuron in by_hand[0]:
        values = [row[neuron] for row in by_hand]
        true, *shuffled = (difference(values, labels) for labels in labelings)
        if max(values) - min(values) < 1e-12:
            expected[neuron] = (values, None)
            continue
        spread = stdev(values) * (1 / len(A) + 1 / len(B)) ** 0.5
        z_by_chance += [one / spread for one in shuffled]
        expected[neuron] = (values, true / spread)
    rows = {(row["layer"], row["neuron"]): row for row in measured.neurons.to_dicts()}
    assert list(rows) == sorted(expected)
    for neuron, (values, z) in expected.items():
        row = rows[neuron]
        scale = max(1e-3, *map(abs, values))
        assert row["mean_a"] == pytest.approx(mean(values[: len(A)]), abs=1e-5 * scale)
        assert row["mean_b"] == pytest.approx(mean(values[len(A) :]), abs=1e-5 * scale)
        if z is None:
            assert row["z"] is row["p"] is row["q"] is None
            continue
        assert row["z"] == pytest.approx(z, abs=1e-3)
        # Sizes are counted to two decimals once a thousandth of one is added: those within a rounding of the edge may
        # fall on either side.
        hundredths = int(abs(row["z"]) * 100 + 1e-3)
        n_least = sum(int((abs(one) - 1e-3) * 100) >= hundredths for one in z_by_chance)
        n_most = sum(int((abs(one) + 1e-3) * 100) >= hundredths for one in z_by_chance)
        n = 1 + len(z_by_chance)
        assert (1 + n_least) / n - 1e-12 <= row["p"] <= (1 + n_most) / n + 1e-12
    tested = sorted((row["p"], row["q"]) for row in rows.values() if row["z"] is not None)
    for place, (_, q) in enumerate(tested):
        assert q == pytest.approx(
            min(1.0, *(p * len(tested) / rank for rank, (p, _) in enumerate(tested[place:], start=place + 1)))
        )
    assert measured.n_tested == len(tested)
    assert measured.n_significant == sum(q <= SIGNIFICANT for _, q in tested)
    assert len(measured.n_significant_shuffled) == N_CONTROLS


def test_own_tokens_are_counted_without_a_bos(model: Opened) -> None:
    measured = model.contrast(A, B, n_shuffles=2)
    assert measured.n_tokens_a == tuple(len(ids) for ids in model.tokenizer.encode(list(A)))
    assert measured.n_tokens_b == tuple(len(ids) for ids in model.tokenizer.encode(list(B)))


def test_a_neuron_that_fires_on_the_only_token_that_differs_is_first(opt: Opened, tmp_path: Path) -> None:
    contexts = [f"{one} and {two} is near the" for one in A for two in B]
    a, b = ([f"{one} {word}" for one in contexts] for word in ("river", "bus"))
    # What enters the layer is told apart by one direction, found by least squares: 1 after "river", 0 after "bus".
    anatomy, entering = Anatomy(loaded(opt.folder)), []
    for prompt in opt.prompts([*a, *b]):
        seen = anatomy.watch(torch.from_numpy(prompt.tokens.astype(np.int64))[None])[1]
        entering.append(float64(seen["keys in"]).reshape(len(prompt.tokens), -1)[-1])
    rows = np.column_stack([np.stack(entering), np.ones(len(entering))])
    solution, *_ = np.linalg.lstsq(rows, np.repeat([1.0, 0.0], len(a)), rcond=None)

    def plant_(tensors: dict[str, torch.Tensor]) -> None:
        name = reads.weight_name("opt", 1, "key")
        tensors[name][7] = torch.from_numpy(solution[:-1])
        tensors[name.replace("weight", "bias")][7] = float(solution[-1])

    folder = tmp_path / "planted"
    shutil.copytree(opt.folder, folder)
    measured = opened(edit_tensors(folder, plant_)).contrast(a, b)
    first = measured.neurons.sort("z", descending=True, nulls_last=True).row(0, named=True)
    assert (first["layer"], first["neuron"]) == (1, 7)
    assert first["q"] <= SIGNIFICANT
    # Of 20 shuffles one has any by chance, at a share of false discoveries of 0.05.
    assert sum(n > 0 for n in measured.n_significant_shuffled) <= 3, measured.n_significant_shuffled


def test_prompts_whose_labels_say_nothing_are_not_told_apart(opt: Opened) -> None:
    texts = [f"{one} and {two}" for one in A for two in B]
    found = []
    for seed in range(12):
        order = np.random.default_rng(seed).permutation(len(texts))
        a, b = ([texts[place] for place in part] for part in np.array_split(order, 2))
        measured = opt.contrast(a, b, "all")
        found.append(measured.n_significant)
    # At a share of false discoveries of 0.05 most draws have none: all that are found here are false.
    assert sum(n > 0 for n in found) <= 3, found


def test_two_prompts_a_side_are_too_few_for_anything(opt: Opened) -> None:
    measured = opt.contrast(A[:2], B[:2])
    assert measured.n_significant == 0
    assert set(measured.n_significant_shuffled) == {0}


def test_batches_change_nothing_but_rounding(opt: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    together = opt.contrast(A, B, "all", n_shuffles=N_SHUFFLES).neurons
    monkeypatch.setattr(differences, "BATCH_TOKENS", 1)
    alone = opt.contrast(A, B, "all", n_shuffles=N_SHUFFLES).neurons
    for name in ("mean_a", "mean_b", "z"):
        assert alone[name].to_list() == pytest.approx(together[name].to_list(), abs=1e-4, nan_ok=True)


@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 5))
def test_shuffles_keep_how_many_there_are(n_a: int, n_b: int, seed: int) -> None:
    labels = shuffled_labels(n_a, n_b, 30, seed=seed)
    assert labels[0].tolist() == [True] * n_a + [False] * n_b
    assert set(labels.sum(axis=1).tolist()) == {n_a}
    assert len({tuple(row) for row in labels.tolist()}) > 1
    assert (labels == shuffled_labels(n_a, n_b, 30, seed=seed)).all()


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40))
def test_false_discoveries_are_those_of_another_library(p: list[float]) -> None:
    found = benjamini_hochberg(torch.tensor(p, dtype=torch.float64))
    # Rank by rank two roundings.
    assert found.tolist() == pytest.approx(stats.false_discovery_control(p).tolist(), rel=1e-14)


def test_contrasts_stay_what_they_were(opt: Opened) -> None:
    # Those in warehouses were made with these: other numbers are another version of the job.
    assert (differences.N_SHUFFLES, N_CONTROLS, differences.BATCH_TOKENS) == (200, 20, 4_096)
    assert opt.contrast(A, B).neurons.equals(opt.contrast(A, B, n_shuffles=200, seed=0).neurons)


def test_z_is_in_standard_deviations_over_all_labelings(opt: Opened) -> None:
    """All 462 ways to choose five of eleven prompts, one by one."""
    by_hand = activations_by_hand(opt, [*A, *B], "all")
    rows = {(row["layer"], row["neuron"]): row for row in opt.contrast(A, B, "all").neurons.to_dicts()}
    n = len(A) + len(B)
    labelings = [[place in chosen for place in range(n)] for chosen in combinations(range(n), len(A))]
    tested = [neuron for neuron, row in rows.items() if row["z"] is not None]
    for neuron in tested[::8]:
        values = [row[neuron] for row in by_hand]
        differences = [difference(values, labels) for labels in labelings]
        assert mean(differences) == pytest.approx(0, abs=1e-6 * max(map(abs, values)))
        assert rows[neuron]["z"] == pytest.approx(difference(values, labelings[0]) / pstdev(differences), abs=1e-3)


def test_the_order_of_prompts_and_sides_does_not_matter_to_z(opt: Opened) -> None:
    z = opt.contrast(A, B, "all").neurons["z"]
    reordered = opt.contrast(A[::-1], (B[-1], *B[:-1]), "all").neurons["z"]
    swapped = opt.contrast(B, A, "all").neurons["z"]
    assert reordered.to_list() == pytest.approx(z.to_list(), abs=1e-4, nan_ok=True)
    assert swapped.to_list() == pytest.approx((-z).to_list(), abs=1e-4, nan_ok=True)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(0, 2**32 - 1))
def test_units_of_a_control_are_counted_as_their_q_counts_them(bins: list[int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    # p falls from bin to bin, and some bins have the same.
    p = np.sort(draw.choice([1e-4, 1e-3, 0.004, 0.02, 0.05, 0.3, 1.0], size=25))[::-1].copy()
    above = torch.from_numpy(p)
    found = n_significant(torch.tensor(bins, dtype=torch.int32), above)
    q = benjamini_hochberg(above[torch.tensor(bins).clamp(max=len(above) - 1)])
    assert found == int((q <= SIGNIFICANT).sum())
