"""What other people's catalogs agree in: every number beside a slow loop, and controls that are planted."""

import json
import math
import random
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from neurothek import Neurothek
from neurothek.catalog.exchange.foreign.importing import shuffled
from tests.catalog.exchange.foreign.conftest import N_LAYERS, WIDTH
from tests.support.foreign import Line, feature, measured_features, write_neuronpedia

N = N_LAYERS * WIDTH


def agreement(door: Neurothek, catalog: str) -> list[dict[str, Any]]:
    query = "select * from foreign_agreement where catalog = $catalog order by layer, neuron"
    return door.sql(query, {"catalog": catalog}).to_dicts()


def shared(theirs: list[list[int | None]], ours: list[list[int]]) -> tuple[int, int]:
    """How many of their first tokens are among as many of ours, and how many are compared."""
    n_shared = n_compared = 0
    for one, other in zip(theirs, ours, strict=True):
        k = min(10, len(one), len(other))
        n_compared += k
        n_shared += len({token for token in one[:k] if token is not None} & set(other[:k]))
    return n_shared, n_compared


def spoilt(door: Neurothek, model: str) -> list[Line]:
    """What was measured, with tokens left out, added, put in another order, and of no tokenizer."""
    draw = random.Random(3)
    texts = list(door.sql("select text from store.tokens where tokenizer_id = 0 order by token_id")["text"])
    lines = measured_features(door, model)
    for line in lines:
        for name in ("pos_str", "neg_str"):
            left = [token for token in line[name] if draw.random() < 0.6]
            line[name] = [*left, *draw.sample(texts, 4), "no such token"][: draw.randrange(3, 12)]
            draw.shuffle(line[name])
        line["frac_nonzero"] = min(1.0, line["frac_nonzero"] * draw.choice([0.5, 1, 2, 0]))
    return lines


class Oracle:
    """What the view says, from the rows that were measured and the lines that were written."""

    def __init__(self, door: Neurothek, model: str) -> None:
        """Read both."""
        own = "(select tokenizer_id from store.models where name = $model)"
        query = f"select token_id, text, piece from store.tokens where tokenizer_id = {own}"
        tokens = door.sql(query, {"model": model}).rows()
        by_text, by_piece = Counter(text for _, text, _ in tokens), Counter(piece for *_, piece in tokens)
        pieces = {piece: token for token, _, piece in tokens if by_piece[piece] == 1}
        self.ids: dict[str, int | None] = {**pieces, **dict.fromkeys(by_text)}
        self.ids |= {text: token for token, text, _ in tokens if by_text[text] == 1}
        query = (
            "select p.layer, p.neuron, top_token_ids, bottom_token_ids, n_active, n_positions from store.projections"
            " as p inner join store.neuron_facts as f using (set_id, layer, neuron) inner join store.models as m"
            " on m.model_id = p.set_id where m.name = $model"
        )
        self.ours = {(layer, neuron): rest for layer, neuron, *rest in door.sql(query, {"model": model}).rows()}
        others = door.sql("select layer, neuron, other_neuron from store.foreign_neurons").rows()
        self.others = {(layer, neuron): other for layer, neuron, other in others}
        self.is_gated = model == "gated"

    def counts(self, line: Line) -> dict[str, object]:
        """What is compared and shared, here and with the other neuron."""
        place = int(line["layer"]), int(line["index"])
        theirs = [[self.ids.get(text) for text in line[name]] for name in ("pos_str", "neg_str")]
        said: dict[str, object] = {}
        for name, where in (("n_shared", place), ("n_shared_by_chance", (place[0], self.others[place]))):
            top, bottom, *_ = self.ours[where]
            n_shared, n_compared = shared(theirs, [top, bottom])
            if self.is_gated:
                n_shared = max(n_shared, shared(theirs, [bottom, top])[0])
            said |= {name: n_shared, "n_compared": n_compared}
        return said

    def ratio(self, line: Line) -> float | None:
        """The binary logarithm of their frequency over ours."""
        *_, n_active, n_positions = self.ours[int(line["layer"]), int(line["index"])]
        return math.log2(line["frac_nonzero"] / (n_active / n_positions)) if n_active and line["frac_nonzero"] else None


@pytest.mark.parametrize("model", ["plain", "gated"])
def test_every_number_is_that_of_a_slow_loop(door: Neurothek, tmp_path: Path, model: str) -> None:
    lines = spoilt(door, model)
    folder = write_neuronpedia(tmp_path / "v1", model, lines, shape=(N_LAYERS, WIDTH))
    imported = door.import_foreign(folder, "neuronpedia")
    assert (imported.n_neurons, imported.model, imported.their_model, imported.is_new) == (N, model, model, True)
    rows = {(row["layer"], row["neuron"]): row for row in agreement(door, imported.catalog)}
    oracle = Oracle(door, model)
    assert len(rows) == N
    ratios = [oracle.ratio(line) for line in lines]
    assert N > sum(ratio is not None for ratio in ratios) > 20
    for line, ratio in zip(lines, ratios, strict=True):
        place = int(line["layer"]), int(line["index"])
        row, counts = rows[place], oracle.counts(line)
        assert {name: row[name] for name in counts} == counts, place
        n_shared, by_chance, n = row["n_shared"], row["n_shared_by_chance"], row["n_compared"]
        assert (row["overlap"], row["overlap_by_chance"]) == pytest.approx((n_shared / n, by_chance / n))
        assert row["jaccard"] == pytest.approx(n_shared / (2 * n - n_shared))
        assert row["log2_ratio"] == (None if ratio is None else pytest.approx(ratio, abs=1e-12))
        assert row["foreign_frequency"] == (line["frac_nonzero"] or None)
        named = (row["active_when"], row["foreign_active_when"], row["is_same_rule"], row["foreign_positions"])
        assert named == ("gate > 0" if oracle.is_gated else "m != 0", None, None, None)
        assert row["address"] == f"{model}/L{place[0]}N{place[1]}"
    summary_is_of(door, list(rows.values()), model)
    assert door.check().passed


def summary_is_of(door: Neurothek, rows: list[dict[str, Any]], model: str) -> None:
    """The catalog's row is the mean of its neurons'."""
    (summary,) = door.sql("select * from foreign_catalogs").to_dicts()
    assert summary["mean_overlap"] == pytest.approx(sum(row["overlap"] for row in rows) / N)
    assert summary["mean_overlap_by_chance"] == pytest.approx(sum(row["overlap_by_chance"] for row in rows) / N)
    chance = sorted(row["overlap_by_chance"] for row in rows)
    place = 0.99 * (N - 1)
    low, high = chance[math.floor(place)], chance[math.ceil(place)]
    assert summary["overlap_by_chance_99"] == pytest.approx(low + (place % 1) * (high - low))
    beyond = sum(row["overlap"] > summary["overlap_by_chance_99"] for row in rows)
    assert (summary["n_beyond_chance"], summary["n_compared_neurons"], summary["n_tokens"]) == (beyond, N, 24 * 128)
    assert (summary["version"], summary["their_model"], summary["positions"]) == ("neurons-v1", model, None)
    ratios = sorted(row["log2_ratio"] for row in rows if row["log2_ratio"] is not None)
    assert summary["median_log2_ratio"] == pytest.approx(statistics.median(ratios))


@pytest.mark.parametrize("model", ["plain", "gated"])
def test_our_own_measurement_agrees_fully_and_shuffled_as_chance(door: Neurothek, tmp_path: Path, model: str) -> None:
    lines = measured_features(door, model)
    own = door.import_foreign(write_neuronpedia(tmp_path / "own", model, lines), "neuronpedia")
    rows = agreement(door, own.catalog)
    matched = matched_shares(door, own.catalog)
    # A text that two tokens share, as bytes and letters do, is neither's.
    assert [row["overlap"] for row in rows] == pytest.approx(matched)
    assert sum(share == 1 for share in matched) > (N // 4 if model == "plain" else -1)
    assert all(row["log2_ratio"] in (0, None) for row in rows)
    # Every row says what is true of another one.
    circle = list(range(N))
    random.Random(5).shuffle(circle)
    told = [
        feature(
            model, int(lines[n]["layer"]), int(lines[n]["index"]), **{k: lines[m][k] for k in ("pos_str", "neg_str")}
        )
        for n, m in zip(circle, [*circle[1:], circle[0]], strict=True)
    ]
    mixed = door.import_foreign(write_neuronpedia(tmp_path / "mixed", model, told), "neuronpedia")
    rows = agreement(door, mixed.catalog)
    overlaps, chances = ([row[name] for row in rows] for name in ("overlap", "overlap_by_chance"))
    differences = [one - other for one, other in zip(overlaps, chances, strict=True)]
    mean = sum(differences) / N
    # Three standard errors of the mean difference.
    assert abs(mean) < 3 * math.sqrt(sum((one - mean) ** 2 for one in differences) / (N - 1) / N)
    views = door.sql("select catalog, mean_overlap, n_beyond_chance from foreign_catalogs").to_dicts()
    by_catalog = {row["catalog"]: row for row in views}
    assert by_catalog[own.catalog]["n_beyond_chance"] > N // 2
    assert by_catalog[mixed.catalog]["n_beyond_chance"] < N // 10


def matched_shares(door: Neurothek, catalog: str) -> list[float]:
    """Of each neuron, which share of the tokens that are listed there is exactly one token here."""
    query = "select n_matched / n_listed as share from foreign_neurons where catalog = $catalog order by layer, neuron"
    return list(door.sql(query, {"catalog": catalog})["share"])


def test_a_sign_that_was_turned_counts_in_gated_models_alone(door: Neurothek, tmp_path: Path) -> None:
    for model in ("plain", "gated"):
        lines = [
            line | {"pos_str": line["neg_str"], "neg_str": line["pos_str"]} for line in measured_features(door, model)
        ]
        imported = door.import_foreign(write_neuronpedia(tmp_path / model, model, lines), "neuronpedia")
        overlaps = [row["overlap"] for row in agreement(door, imported.catalog)]
        if model == "gated":
            assert overlaps == pytest.approx(matched_shares(door, imported.catalog))
        else:
            assert sum(overlaps) / N < 0.3


def test_the_other_neuron_is_another_one_and_each_is_one_once() -> None:
    for layer, width in ((0, 48), (1, 48), (5, 2), (0, 3072)):
        others = shuffled(layer, width)
        assert sorted(others) == list(range(width))
        assert all(other != neuron for neuron, other in enumerate(others))
        assert others == shuffled(layer, width)
    assert shuffled(0, 48) != shuffled(1, 48)
    assert shuffled(0, 1) == [0]


def test_positions_and_rules_are_held_against_each_other(door: Neurothek, tmp_path: Path) -> None:
    """What a catalog says of them is what the view repeats; nothing is the same as what nobody says."""
    folder = write_neuronpedia(tmp_path / "v1", "plain", [feature("plain", 0, 3, frac_nonzero=0.25)])
    catalog = door.import_foreign(folder, "neuronpedia").catalog
    with door.warehouse.transaction() as connection:
        connection.execute("update store.foreign_catalogs set positions = 'all', active_when = 'm > 0'")
    (row,) = agreement(door, catalog)
    (bos,) = door.sql("select bos_token_id is null from store.tokenizers where tokenizer_id = 0").row(0)
    assert row["positions"] == ("all" if bos else "without the first")
    assert (row["are_same_positions"], row["is_same_rule"]) == (bos, False)
    assert (row["n_compared"], row["overlap"], row["n_shared"]) == (0, None, None)
    assert json.dumps(row["foreign_frequency"]) == "0.25"
