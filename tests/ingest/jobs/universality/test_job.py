"""The job `universality` on small models: rows against loops, planted twins, shuffled text, what may go wrong."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from transformers import AutoModelForCausalLM

from neurothek.catalog.problems import Conflict, NotFound, NotMeasured, Unsupported
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import remove
from neurothek.catalog.upkeep.checks import check
from neurothek.catalog.upkeep.verification import Remeasured, agreement
from neurothek.ingest.jobs.universality import correlations, job
from neurothek.ingest.jobs.universality.correlations import (
    Closest,
    Layers,
    compare_layer,
    groups,
    rotation,
    standardize_,
)
from neurothek.ingest.pipeline.verify import remeasure
from neurothek.ingest.planning import pair_plan
from tests.support import ingests, models
from tests.support.models import Kind

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("universality")]

JOBS = ("projections", "activity")
D_FFN, N_LAYERS = 20, 2
SECOND = {
    "opt": "model.decoder.layers.{}.fc2",
    "gpt2": "transformer.h.{}.mlp.c_proj",
    "llama": "model.layers.{}.mlp.down_proj",
}
"""The matrix that reads the activations of a layer."""

TOLERANCE = 2e-5
"""Activations in float32 differ by 1e-6 of the largest, and some neurons vary by a hundredth of that."""


def compare(warehouse: Warehouse, *names: str, **fields: object) -> tuple[str, ...]:
    (report,) = ingests.compare(warehouse, *names, jobs=("universality",), **fields)
    return report.findings


def measured(folder: Path, kind: Kind, edits: dict[str, Callable[[dict[str, torch.Tensor]], object]]) -> Warehouse:
    """Models of one kind, `a` and what is made of others, each measured on one text."""
    corpora = ingests.write_corpus(folder)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for number, (name, edit) in enumerate(edits.items()):
        models.build(folder / name, kind, d_ffn=D_FFN, n_layers=N_LAYERS, d_model=16, seed=number)
        models.edit_tensors(folder / name, edit)
        ingests.measure(warehouse, folder / name, ingests.request(corpora, jobs=JOBS))
    return warehouse


def nothing(_: dict[str, torch.Tensor]) -> None:
    """Leave all as it is."""


def keeping(kept: dict[str, torch.Tensor]) -> Callable[[dict[str, torch.Tensor]], object]:
    """Leave all as it is, and take a copy."""
    return lambda tensors: kept.update({name: tensor.clone() for name, tensor in tensors.items()})


def activations(warehouse: Warehouse, folder: Path, kind: Kind) -> np.ndarray:
    """[n_layers positions d_ffn] float64, by the library's own model, one sequence after the other."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    seen: list[list[np.ndarray]] = [[] for _ in range(N_LAYERS)]
    for layer in range(N_LAYERS):

        def look(_: object, inputs: tuple[torch.Tensor, ...], at: list[np.ndarray] = seen[layer]) -> None:
            at.append(inputs[0].detach().reshape(-1, D_FFN).double().numpy())

        model.get_submodule(SECOND[kind].format(layer)).register_forward_pre_hook(look)
    has_bos = ingests.table(warehouse, "tokenizers")["bos_token_id"].item() is not None
    for tokens in ingests.table(warehouse, "sequences").sort("sequence_id")["tokens"].to_list():
        with torch.no_grad():
            model(torch.tensor(tokens)[None])
        if has_bos:
            for at in seen:
                at[-1] = at[-1][1:]
    return np.stack([np.concatenate(at) for at in seen])


def plain(mine: np.ndarray, theirs: np.ndarray, *, either_sign: bool) -> list[dict[str, Any]]:
    """A row for each neuron of the first, by a loop over all pairs; None of neurons that have no correlation."""

    def correlated(x: np.ndarray, y: np.ndarray) -> float | None:
        if (x == x[0]).all() or (y == y[0]).all():
            return None
        x, y = x - x.mean(), y - y.mean()
        return float(x @ y / np.sqrt((x @ x) * (y @ y)))

    def sized(value: float) -> float:
        return abs(value) if either_sign else value

    # Each neuron is strongest above 0.
    turned = [layer * np.where(layer.max(0) + layer.min(0) < 0, -1, 1) for layer in theirs]
    rotated = [layer @ rotation(D_FFN, seed=0, layer=number, group=0) for number, layer in enumerate(turned)]
    rows: list[dict[str, Any]] = []
    for layer, neuron in product(range(N_LAYERS), range(D_FFN)):
        x = mine[layer][:, neuron]
        found = {
            (at, other): value
            for at, other in product(range(N_LAYERS), range(D_FFN))
            if (value := correlated(x, theirs[at][:, other])) is not None
        }
        nulls = [
            sized(value)
            for at, other in product(range(N_LAYERS), range(D_FFN))
            if (value := correlated(x, rotated[at][:, other])) is not None
        ]
        order = sorted(found, key=lambda place: -sized(found[place]))
        second = sized(found[order[1]]) if len(order) > 1 else -np.inf
        rows.append(
            {
                "layer": layer,
                "neuron": neuron,
                "best": order[0] if order else None,
                "correlation": found[order[0]] if order else None,
                "null_correlation": max(nulls) if order else None,
                # Of two that are as near as rounding either may be first.
                "is_clear": bool(order) and sized(found[order[0]]) - second > 10 * TOLERANCE,
            }
        )
    return rows


def rows_of(warehouse: Warehouse, model_id: int, other_id: int) -> list[dict[str, Any]]:
    found = ingests.table(warehouse, "universality", f"set_id = {model_id} and other_set_id = {other_id}")
    return found.sort("layer", "neuron").to_dicts()


@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama"])
def test_rows_are_those_of_a_loop_over_hooked_activations(kind: Kind, tmp_path: Path) -> None:
    warehouse = measured(tmp_path, kind, {"a": nothing, "b": nothing})
    sentences = compare(warehouse, "b", "a", batch_tokens=150)
    seen = [activations(warehouse, tmp_path / name, kind) for name in ("a", "b")]
    n_positions = seen[0].shape[1]
    for mine, theirs in ((0, 1), (1, 0)):
        expected = plain(seen[mine], seen[theirs], either_sign=kind == "llama")
        found = rows_of(warehouse, mine, theirs)
        assert len(found) == len(expected) == N_LAYERS * D_FFN
        n_clear = 0
        for row, should in zip(found, expected, strict=True):
            assert row["correlation"] == pytest.approx(should["correlation"], abs=TOLERANCE)
            assert row["null_correlation"] == pytest.approx(should["null_correlation"], abs=TOLERANCE)
            if should["is_clear"]:
                assert (row["other_layer"], row["other_neuron"]) == should["best"]
                n_clear += 1
        assert n_clear > len(found) / 2
        sized = [abs(one) if kind == "llama" else one for row in expected if (one := row["correlation"]) is not None]
        nulls = [one for row in expected if (one := row["null_correlation"]) is not None]
        names = "ab"[mine], "ab"[theirs]
        assert sentences[mine] == (
            f"{sum(one > 0.5 for one in sized)} of {len(sized)} neurons of {names[0]} correlate above 0.5 with one of"
            f" {names[1]} on {n_positions:,} positions of long+short; with a rotated basis"
            f" {sum(null > 0.5 for null in nulls)}"
        )
    assert check(warehouse) == []
    (run, _) = ingests.table(warehouse, "runs", "job = 'universality'").sort("run_id").to_dicts()
    assert (run["model_id"], run["other_model_id"], run["corpus_id"]) == (0, 1, 0)
    assert not warehouse.staging.exists()


def test_fewer_positions_are_the_first_of_every_domain(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "gpt2", {"a": nothing, "b": nothing})
    compare(warehouse, "a", "b", positions=60)
    sequences = ingests.table(warehouse, "sequences").sort("sequence_id")
    has_bos = int(ingests.table(warehouse, "tokenizers")["bos_token_id"].item() is not None)
    keeps: list[bool] = []
    left = dict.fromkeys(sequences["domain"].unique().to_list(), 30)
    for domain, tokens in sequences.select("domain", "tokens").rows():
        taken = min(left[domain], len(tokens) - has_bos)
        left[domain] -= taken
        keeps += [place < taken for place in range(len(tokens) - has_bos)]
    assert sum(keeps) == 60
    seen = [activations(warehouse, tmp_path / name, "gpt2")[:, keeps] for name in ("a", "b")]
    for row, should in zip(rows_of(warehouse, 0, 1), plain(*seen, either_sign=False), strict=True):
        assert row["correlation"] == pytest.approx(should["correlation"], abs=TOLERANCE)


def test_a_permuted_copy_is_the_same_model(tmp_path: Path) -> None:
    order = [torch.randperm(D_FFN, generator=torch.Generator().manual_seed(layer)) for layer in range(N_LAYERS)]
    kept: dict[str, torch.Tensor] = {}

    def permute(tensors: dict[str, torch.Tensor]) -> None:
        for name, tensor in tensors.items():
            tensor.copy_(kept[name])
        for layer in range(N_LAYERS):
            for part, axis in (("fc1.weight", 0), ("fc1.bias", 0), ("fc2.weight", 1)):
                tensor = tensors[f"model.decoder.layers.{layer}.{part}"]
                tensor.copy_(tensor.index_select(axis, order[layer]))

    warehouse = measured(
        tmp_path,
        "opt",
        {"a": keeping(kept), "b": permute},
    )
    compare(warehouse, "a", "b")
    rows = [row for row in rows_of(warehouse, 1, 0) if row["correlation"] is not None]
    assert len(rows) > N_LAYERS * D_FFN / 2
    for row in rows:
        assert row["correlation"] == pytest.approx(1, abs=TOLERANCE)
        assert row["other_layer"] == row["layer"]
        assert row["other_neuron"] == order[row["layer"]][row["neuron"]]
    with warehouse.reader() as connection:
        mutual = connection.execute("select count(*) from universality where is_mutual").fetchone()
    assert mutual == (2 * len(rows),)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_planted_neuron_is_found_at_either_sign_of_a_gated_model(sign: int, tmp_path: Path) -> None:
    kept: dict[str, torch.Tensor] = {}

    def plant(tensors: dict[str, torch.Tensor]) -> None:
        # What the first FFN reads is the same, and so is one of its neurons, at another place.
        for name in [name for name in tensors if ("layers.0" in name and "mlp" not in name) or "embed" in name]:
            tensors[name].copy_(kept[name])
        for part, factor in (("gate", 1), ("up", sign)):
            name = f"model.layers.0.mlp.{part}_proj.weight"
            tensors[name][7] = factor * kept[name][3]

    warehouse = measured(
        tmp_path,
        "llama",
        {"a": keeping(kept), "b": plant},
    )
    compare(warehouse, "a", "b")
    row = rows_of(warehouse, 0, 1)[3]
    assert (row["other_layer"], row["other_neuron"]) == (0, 7)
    assert row["correlation"] == pytest.approx(sign, abs=TOLERANCE)
    back = rows_of(warehouse, 1, 0)[7]
    assert (back["other_layer"], back["other_neuron"], back["correlation"]) == (0, 3, row["correlation"])
    with warehouse.reader() as connection:
        seen = connection.execute(
            "select correlation, similarity, excess, is_mutual from universality where address = 'a/L0N3'"
        ).fetchone()
    # Each is turned to its strongest pole, and these turn with the sign.
    assert seen is not None
    assert seen[:2] == (pytest.approx(1, abs=TOLERANCE), pytest.approx(1, abs=TOLERANCE))
    assert (seen[2] > 0, seen[3]) == (True, True)


@pytest.mark.parametrize("bias", [-3.0, 2.0])
def test_neurons_whose_activation_never_changes_have_no_correlation(bias: float, tmp_path: Path) -> None:
    def fix(tensors: dict[str, torch.Tensor]) -> None:
        tensors["model.decoder.layers.1.fc1.weight"][4] = 0
        tensors["model.decoder.layers.1.fc1.bias"][4] = bias

    def fix_all(tensors: dict[str, torch.Tensor]) -> None:
        for layer in range(N_LAYERS):
            tensors[f"model.decoder.layers.{layer}.fc1.weight"].zero_()
            tensors[f"model.decoder.layers.{layer}.fc1.bias"].fill_(bias)

    warehouse = measured(tmp_path, "opt", {"a": fix, "b": nothing, "c": fix_all})
    compare(warehouse, "a", "b")
    numbers = ("other_layer", "other_neuron", "correlation", "null_correlation")
    fixed = rows_of(warehouse, 0, 1)[D_FFN + 4]
    assert [fixed[name] for name in numbers] == [None] * 4
    others = rows_of(warehouse, 1, 0)
    assert (1, 4) not in [(row["other_layer"], row["other_neuron"]) for row in others]
    compare(warehouse, "a", "c")
    for row in (*rows_of(warehouse, 0, 2), *rows_of(warehouse, 2, 0)):
        assert [row[name] for name in numbers] == [None] * 4
    assert check(warehouse) == []
    with warehouse.reader() as connection:
        rows = connection.execute("select n_neurons, share_above from universality_by_layer where model = 'c'")
        assert rows.fetchall() == [(0, None)] * N_LAYERS


def layers_of(folder: Path, *of_layers: np.ndarray, largest: int = correlations.GROUP) -> Layers:
    """Activations [n positions] of made-up layers, as the job leaves them."""
    folder.mkdir()
    spreads = []
    for number, rows in enumerate(of_layers):
        held = rows.astype(np.float32)
        spreads.append(standardize_(held))
        np.save(correlations._activations(folder, number), held)
    layers = Layers(folder, np.stack(spreads), 0, torch.device("cpu"), largest)
    layers.write_rotations()
    return layers


def heavy(seed: int, n: int = 40, positions: int = 3_000) -> np.ndarray:
    """[n positions] rarely large, as activations are."""
    return np.maximum(0, np.random.default_rng(seed).standard_t(4, (n, positions)) - 1)


def test_what_is_unrelated_stays_at_its_null_and_a_planted_one_does_not(tmp_path: Path) -> None:
    one, other = heavy(1), heavy(2)
    forth, back = compare_layer(layers_of(tmp_path / "a", one), 0, layers_of(tmp_path / "b", other), either_sign=False)
    for best in (forth, back):
        excess = best.correlations - best.nulls
        # The largest of 40 numbers of spread 1 / sqrt(3,000) has a spread of about half of that; heavy tails double it.
        assert abs(excess.mean()) < 4 * 0.02 / np.sqrt(40)
        assert np.abs(excess).max() < 0.12
    other[11] = one[5] + 2
    planted, _ = compare_layer(layers_of(tmp_path / "c", one), 0, layers_of(tmp_path / "d", other), either_sign=False)
    assert planted.places[5] == 11
    assert planted.correlations[5] == pytest.approx(1, abs=1e-6)
    assert planted.correlations[5] - planted.nulls[5] > 0.3
    # The same neurons at shuffled positions have nothing in common.
    shuffled = one[:, np.random.default_rng(3).permutation(one.shape[1])]
    apart, _ = compare_layer(layers_of(tmp_path / "e", one), 0, layers_of(tmp_path / "f", shuffled), either_sign=False)
    assert np.abs(apart.correlations - apart.nulls).max() < 0.12


def test_no_number_depends_on_how_positions_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = heavy(1) + 1e3, heavy(2)
    other[3] = -one[8]
    found = []
    for at_once in (1, 7, 500, 10**6):
        monkeypatch.setattr(correlations, "POSITIONS", at_once)
        mine, theirs = (layers_of(tmp_path / f"{name}{at_once}", rows) for name, rows in (("a", one), ("b", other)))
        found.append(compare_layer(mine, 0, theirs, either_sign=True))
    for best in found[1:]:
        for again, first in zip(best, found[0], strict=True):
            np.testing.assert_array_equal(again.places, first.places)
            # Products are of unit vectors in float32: sums of 3,000 of them are off by less than 1e-6.
            np.testing.assert_allclose(again.correlations, first.correlations, atol=1e-6)
            np.testing.assert_allclose(again.nulls, first.nulls, atol=2e-6)
    assert found[0][0].places[8] == 3
    assert found[0][0].correlations[8] == pytest.approx(-1, abs=1e-6)


def test_wide_layers_are_rotated_in_groups_and_correlate_the_same(tmp_path: Path) -> None:
    one, other = heavy(1), heavy(2)
    whole, _ = compare_layer(layers_of(tmp_path / "a", one), 0, layers_of(tmp_path / "b", other), either_sign=False)
    parts = (layers_of(tmp_path / "c", one, largest=15), layers_of(tmp_path / "d", other, largest=15))
    cut, _ = compare_layer(parts[0], 0, parts[1], either_sign=False)
    np.testing.assert_array_equal(cut.places, whole.places)
    np.testing.assert_allclose(cut.correlations, whole.correlations, atol=1e-6)
    # Other directions, as large ones.
    assert abs((cut.nulls - whole.nulls).mean()) < 0.02
    expected = np.full(len(one), -np.inf)
    for number, members in enumerate(groups(40, seed=0, layer=0, largest=15)):
        turned = rotation(len(members), seed=0, layer=0, group=number).T @ other[members]
        expected = np.maximum(expected, np.corrcoef(one, turned)[: len(one), len(one) :].max(1))
    np.testing.assert_allclose(cut.nulls, expected, atol=2e-6)


def test_groups_are_a_partition_and_rotations_are_orthogonal() -> None:
    parts = groups(101, seed=4, layer=2, largest=30)
    assert sorted(np.concatenate(parts).tolist()) == list(range(101))
    assert {len(part) for part in parts} == {25, 26}
    assert all((np.diff(part) > 0).all() for part in parts)
    assert [len(part) for part in groups(30, seed=4, layer=2, largest=30)] == [30]
    turned = rotation(60, seed=1, layer=0, group=0)
    np.testing.assert_allclose(turned.T @ turned, np.eye(60), atol=1e-12)
    assert not np.allclose(turned, rotation(60, seed=1, layer=1, group=0))
    assert not np.allclose(turned, rotation(60, seed=2, layer=0, group=0))


def test_ties_are_by_place_and_a_later_worse_one_changes_nothing() -> None:
    best = Closest.none(2)
    rows = np.array([0, 1])
    best.take_(rows, Closest(np.array([5, 9]), np.array([0.4, -0.7]), np.array([0.1, 0.2])), either_sign=True)
    best.take_(rows, Closest(np.array([3, 8]), np.array([0.4, 0.6]), np.array([0.3, 0.1])), either_sign=True)
    best.take_(rows, Closest(np.array([-1, -1]), np.array([np.nan] * 2), np.array([np.nan] * 2)), either_sign=True)
    assert best.places.tolist() == [3, 9]
    assert best.correlations.tolist() == [0.4, -0.7]
    assert best.nulls.tolist() == [0.3, 0.2]


@pytest.mark.parametrize("arena", [(pair_plan, "publish_pair"), (job, "compare_layer")])
def test_what_was_staged_is_taken_up(
    arena: tuple[object, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = measured(tmp_path, "gpt2", {"a": nothing, "b": nothing})

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*arena, killed)
        with pytest.raises(KeyboardInterrupt):
            compare(warehouse, "a", "b")
    assert ingests.table(warehouse, "universality").is_empty()
    with monkeypatch.context() as patch:
        # No text is read again.
        patch.setattr(job, "write_activations", killed)
        compare(warehouse, "b", "a")
    taken_up = [rows_of(warehouse, *ids) for ids in ((0, 1), (1, 0))]
    assert not warehouse.staging.exists()
    (report,) = ingests.compare(warehouse, "a", "b", jobs=("universality",))
    assert report.n_rows is None
    compare(warehouse, "a", "b", force=True)
    remove(warehouse, "a", job="universality")
    assert ingests.table(warehouse, "universality").is_empty()
    compare(warehouse, "a", "b")
    names = ("layer", "neuron", "other_layer", "other_neuron", "correlation", "null_correlation")
    for before, ids in zip(taken_up, ((0, 1), (1, 0)), strict=True):
        assert [[row[name] for name in names] for row in before] == [
            [row[name] for name in names] for row in rows_of(warehouse, *ids)
        ]


def test_rows_are_verified_by_reading_the_text_again(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "llama", {"a": nothing, "b": nothing})
    compare(warehouse, "a", "b")

    def judged(model: str) -> tuple[int, int]:
        parts = [
            part
            for part in remeasure(warehouse, model, weights=None, n_shards=2, progress=Silent())
            if isinstance(part, Remeasured) and part.job == "universality"
        ]
        with warehouse.reader() as connection:
            agreements = [agreement(connection, part) for part in parts]
        return sum(one.n_rows for one in agreements), sum(one.n_different for one in agreements)

    assert [judged(model) for model in ("a", "b")] == [(N_LAYERS * D_FFN, 0)] * 2
    with warehouse.writer() as connection:
        connection.execute("update store.universality set correlation = -correlation where set_id = 0 and neuron = 3")
    assert judged("a") == (N_LAYERS * D_FFN, 2)
    with warehouse.writer() as connection:
        connection.execute("update store.models set source = '/gone' where name = 'b'")
    assert judged("a") == (0, 0)


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "opt", {"a": nothing, "b": nothing})
    corpora = (f"long={tmp_path / 'long.txt'}", f"short={tmp_path / 'short'}")
    models.build(tmp_path / "other", "gpt2", d_ffn=12, d_model=16)
    models.build(tmp_path / "apart", "opt", d_ffn=12, d_model=16, seed=8)
    ingests.measure(warehouse, tmp_path / "other", ingests.request(corpora, jobs=JOBS))
    ingests.measure(warehouse, tmp_path / "apart", ingests.request(corpora, jobs=JOBS, text={"sequence_length": 16}))
    with pytest.raises(Conflict, match="a and other have different tokenizers"):
        compare(warehouse, "a", "other")
    with pytest.raises(NotMeasured, match=r"not measured on one corpus.*neurothek ingest a apart --job activity"):
        compare(warehouse, "a", "apart")
    with pytest.raises(NotFound, match=r"not both measured on nothing.*name a corpus that both read: long\+short"):
        compare(warehouse, "a", "b", text=ingests.request(("nothing",)).text)
    compare(warehouse, "a", "b", positions=50)
    with pytest.raises(Conflict, match="positions: 50 in the warehouse, 15000 requested"):
        compare(warehouse, "a", "b")
    compare(warehouse, "a", "b", force=True)
    assert check(warehouse) == []
    remove(warehouse, "b", corpus="long+short")
    assert ingests.table(warehouse, "universality").is_empty()
    assert ingests.table(warehouse, "runs", "job = 'universality'").is_empty()


def test_masked_models_are_refused(tmp_path: Path) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for seed, name in enumerate(("a", "b")):
        models.build(tmp_path / name, "bert", d_ffn=12, d_model=16, seed=seed)
        ingests.measure(warehouse, tmp_path / name, ingests.request((), jobs=("projections",)))
    with pytest.raises(Unsupported, match=r"masked model, and the job universality needs one.*use --job counterparts"):
        compare(warehouse, "a", "b")


def test_views_say_how_many_and_how_far(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "gpt2", {"a": nothing, "b": nothing})
    compare(warehouse, "a", "b")
    with warehouse.reader() as connection:
        neurons = connection.sql("from universality where model = 'a'").pl()
        layers = connection.sql("from universality_by_layer where model = 'a' order by layer").pl()
    for layer in layers.to_dicts():
        rows = neurons.filter(pl.col("layer") == layer["layer"])
        excess = (rows["similarity"] - rows["null_correlation"]).to_numpy()
        assert layer["n_neurons"] == D_FFN
        assert layer["n_above"] == int((rows["correlation"] > 0.5).sum())
        assert layer["n_universal"] == int((excess > 0.5).sum())
        assert layer["mean_excess"] == pytest.approx(excess.mean())
        spread = 1.959964 * excess.std(ddof=1) / np.sqrt(D_FFN)
        assert layer["mean_excess_high"] == pytest.approx(excess.mean() + spread)
        assert layer["mean_excess_low"] == pytest.approx(excess.mean() - spread)
        n, p, z = D_FFN, layer["share_above"], 1.959964
        middle, half = (p + z**2 / (2 * n)) / (1 + z**2 / n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        assert layer["share_above_low"] == pytest.approx(middle - half / (1 + z**2 / n))
        assert layer["share_above_high"] == pytest.approx(middle + half / (1 + z**2 / n))
