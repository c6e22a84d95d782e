"""A search of one word against loops over all neurons and the whole vocabulary, with weights at hand and without."""

from pathlib import Path

import numpy as np
import pytest

import neurothek
from neurothek.api import answers
from neurothek.queries.search.question import SIDES, Side
from tests.support.ingests import measure, open_warehouse, request
from tests.support.models import CAUSAL_KINDS
from tests.support.plain import PlainModel

GATED = ("tiny-llama",)

WORDS = """
    select distinct token_id, token from promotions
    where model = $m and regexp_matches(token, '^ ?[a-z]{2,}$') order by token_id
"""


@pytest.fixture(scope="module")
def folders(tiny_models: dict[str, Path]) -> dict[str, Path]:
    return {tiny_models[kind].name: tiny_models[kind] for kind in CAUSAL_KINDS}


@pytest.fixture(scope="module")
def door(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> neurothek.Neurothek:
    path = tmp_path_factory.mktemp("exact") / "exact.duckdb"
    for folder in folders.values():
        measure(open_warehouse(path), folder, request((), jobs=("projections",)))
    return neurothek.open(path)


def by_loop(folder: Path, tokens: list[int], side: Side) -> list[tuple[float, str]]:
    """(z of the word at what the neuron does to it, address), best first: from the definitions."""
    plain = PlainModel(folder)
    table = plain.unembedding()[: len(plain.tokenizer)]
    rows = []
    for layer in range(2):
        for neuron, value in enumerate(plain.neurons(layer).values):
            scores = [float(row @ value) for row in table]
            mean = sum(scores) / len(scores)
            sd = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
            z = [(scores[token] - mean) / sd for token in tokens]
            either = side == "both" or folder.name in GATED
            best = max(abs(one) if either else -one if side == "suppressed" else one for one in z)
            rows.append((best, f"{folder.name}/L{layer}N{neuron}"))
    return sorted(rows, key=lambda row: -row[0])


def test_every_neuron_is_scored(door: neurothek.Neurothek, folders: dict[str, Path]) -> None:
    for number, (name, folder) in enumerate(folders.items()):
        words = dict(door.sql(WORDS, {"m": name}).rows())
        token_id = list(words)[3 * number]
        for side in SIDES:
            found = door.search(words[token_id], exact=True, model=name, side=side, limit=10_000)
            expected = by_loop(folder, [token_id], side)
            assert found.n_found == found.neurons.height == len(expected), (name, side)
            assert "every neuron was scored from the weights" in found.notes
            z = dict(zip(found.neurons["address"], found.neurons["z_sum"], strict=True))
            for best, address in expected:
                assert z[address] == pytest.approx(best, abs=2e-3), (name, side, address)
            listed = [row["z_sum"] for row in found.neurons.to_dicts()]
            assert listed == sorted(listed, reverse=True)


def test_what_lies_beyond_the_lists_is_found_and_said(
    door: neurothek.Neurothek, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in folders:
        token = door.sql(WORDS, {"m": name})["token"][0]
        whole = door.search(token, exact=True, model=name, limit=10_000)
        with monkeypatch.context() as patch:
            patch.setattr(answers, "MOST_BYTES", 0)
            listed = door.search(token, exact=True, model=name, limit=10_000)
        assert 0 < listed.n_found < whole.n_found
        assert any("are complete to rank 50: a neuron that ranks a word lower" in note for note in listed.notes)
        assert any(f"the weights of {name} were not read" in note for note in listed.notes)
        # What the lists have is the same in both; what they lack ranks lower.
        same = ["address", "z_sum", "side", "matched_ranks", "matched_scores", "matched_z_scores", "neighbours", "pole"]
        both = whole.neurons.join(listed.neurons.select("address"), on="address", how="semi")
        assert both.select(same).sort("address").equals(listed.neurons.select(same).sort("address")), name
        beyond = whole.neurons.join(listed.neurons.select("address"), on="address", how="anti")
        assert all(ranks[0] > 50 for ranks in beyond["matched_ranks"]), name


def test_ranks_beyond_the_lists_equal_the_loop(door: neurothek.Neurothek, folders: dict[str, Path]) -> None:
    folder = folders["tiny-llama"]
    plain = PlainModel(folder)
    table = plain.unembedding()[: len(plain.tokenizer)]
    query = (
        "select token_id, token from promotions where model = 'tiny-llama' and regexp_matches(token, '^ ?[a-z]{2,}$')"
    )
    token_id, token = door.sql(f"{query} order by token_id desc limit 1").row(0)
    for side in ("promoted", "suppressed"):
        for row in door.search(token, exact=True, model="tiny-llama", side=side, limit=500).neurons.to_dicts():
            value = plain.neurons(row["layer"]).values[row["neuron"]] * (1 if row["pole"] == "positive" else -1)
            scores = table @ value
            own = scores[token_id]
            assert (own > scores.mean()) == (side == "promoted"), row
            rank = 1 + np.sum(scores > own) if side == "promoted" else 1 + np.sum(scores < own)
            assert abs(row["matched_ranks"][0] - rank) <= 1
            assert row["matched_scores"][0] == pytest.approx(own, abs=1e-4)


def test_conditions_and_models_together(door: neurothek.Neurothek, folders: dict[str, Path]) -> None:
    found = door.search("the", layers=(1, 1), where="neuron % 3 = 0", limit=10_000).neurons
    assert set(found["model"]) == set(folders)
    assert set(found["layer"]) == {1}
    assert all(neuron % 3 == 0 for neuron in found["neuron"])
    assert found["pole"].is_null().to_list() == [model not in GATED for model in found["model"]]


def test_a_condition_on_lists_is_answered_from_them(door: neurothek.Neurothek) -> None:
    for conditions in ({"without": "a"}, {"suppresses": "a"}):
        notes = door.search("the", model="tiny-opt", **conditions).notes  # type: ignore[arg-type]
        assert any("complete to rank 50" in note for note in notes), conditions
        assert not any("--score" in note for note in notes), conditions
