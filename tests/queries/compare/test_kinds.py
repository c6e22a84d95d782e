"""The kinds of neurons side by side, against loops over planted n-grams and made-up profiles."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.ask.answer import Section
from neurothek.queries.compare.comparison import Comparison, compare
from neurothek.queries.compare.kinds import KINDS, positional_neurons, typology
from tests.support import detectors as planted
from tests.support import ngrams as oracle
from tests.support.profiles import labels
from tests.support.tiny import MODELS, POSITION_SEQUENCES
from tests.support.warehouse import hand_made

MADE = hand_made()


@pytest.fixture(scope="module")
def ngrams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    path: Path = tmp_path_factory.mktemp("typology") / "ngrams.duckdb"
    planted.publish(path)
    with Warehouse(path).reader() as connection:
        yield connection


def table(sections: list[Section], title: str) -> dict[str, dict[str, Any]]:
    (section,) = [section for section in sections if section.title == title]
    return {row["model"]: row for row in section.frame.to_dicts()}


def test_coverage_of_the_first_half(ngrams: duckdb.DuckDBPyConnection) -> None:
    rows = table(
        typology(ngrams, planted.MODELS).sections(), "alive neurons of the first half by the tokens that cover them"
    )
    for model in planted.MODELS:
        # One of two layers is the first half.
        counts = [oracle.activations(planted.lines(model, *key), 1) for key in planted.NEURONS if key[0] == 0]
        alive = [own for own in counts if sum(own.values())]
        placed = Counter(
            "too few" if sum(own.values()) < 100 else "1-5" if oracle.coverage(own, 95) <= 5 else "6-50"
            for own in alive
        )
        for name in ("1-5", "6-50", "51-1k", ">1k", "too few"):
            assert rows[model][name] == pytest.approx(placed[name] / len(alive))
        assert rows[model]["corpus"] == oracle.coverage(oracle.occurrences(planted.lines(model, 0, 0), 1), 95)


def test_checkpoints_stand_in_the_order_of_training_whatever_their_names(tmp_path: Path) -> None:
    path = tmp_path / "steps.duckdb"
    planted.publish(path)
    later_first = sorted(planted.MODELS)
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set n_parameters = 9, n_parameters_embedding = 1, size = 8")
        for place, name in enumerate(later_first):
            # As texts 1000 comes before 250.
            step = {"variant": f"step {(1000, 250)[place]}", "name": name}
            connection.execute("update store.models set variant = $variant where name = $name", step)
        found = typology(connection, planted.MODELS)
    # One of them alone has detectors, of which suppression tells.
    for part in ("coverage", "detectors", "detected"):
        rows = getattr(found, part)
        assert rows.get_column("model").unique(maintain_order=True).to_list() == later_first[::-1], part


def test_detectors_and_what_they_detect(ngrams: duckdb.DuckDBPyConnection) -> None:
    sections = typology(ngrams, planted.MODELS).sections()
    counted, known = table(sections, "detectors of n-grams"), table(sections, "tokens that have a detector")
    for model in planted.MODELS:
        for n, name in ((1, "tokens"), (2, "bigrams"), (3, "trigrams")):
            number = len(planted.detectors(model, n)) if planted.can_be_labelled(model, n) else None
            assert counted[model][name] == number
        layers = [
            {ngram for (at, _), one in planted.detectors(model, 1).items() if at == layer for ngram in one.detected}
            for layer in (0, 1)
        ]
        assert known[model]["in all layers"] == len(layers[0] | layers[1])
        assert known[model]["most in a layer"] == max(map(len, layers))
        detected = sum(map(len, layers))
        new = (len(layers[0]) + len(layers[1] - layers[0])) / detected if detected else None
        assert known[model]["new"] == pytest.approx(new)
    in_layers = Counter(layer for layer, _ in planted.detectors("planted", 1))
    assert (counted["planted"]["peak layer"], counted["planted"]["there"]) == in_layers.most_common(1)[0]
    assert counted["shuffled"]["peak layer"] is None


def test_suppression_stands_beside_what_chance_gives(ngrams: duckdb.DuckDBPyConnection) -> None:
    rows = table(typology(ngrams, planted.MODELS).sections(), "token detectors that suppress their triggers")
    assert list(rows) == ["planted"]
    row = rows["planted"]
    assert row["detectors"] == len(planted.detectors("planted", 1))
    assert row["low"] <= row["observed"] <= row["high"]
    assert row["difference"] == pytest.approx(row["observed"] - row["expected"])


def kinds(model_id: int) -> Counter[tuple[str, str]]:
    return Counter(
        labels(row, row["n_sequences"])
        for row in MADE.rows["positions"]
        if row["model_id"] == model_id and row["corpus_id"] == MADE.shown[model_id] and row["domain"] == "all"
    )


def test_positional_neurons_by_kind(full: duckdb.DuckDBPyConnection) -> None:
    rows = table(compare(full).sections(), "positional neurons")
    for model_id in (0, 1, 2):
        found, row = kinds(model_id), rows[MODELS[model_id].name]
        for kind, name in zip(KINDS, ("oscillatory", "both", "one", "other"), strict=True):
            assert row[name] == f"{found[kind, 'strong']} + {found[kind, 'weak']}"
        assert row["positional"] == sum(found[kind, how] for kind in KINDS for how in ("strong", "weak"))
    # Nineteen sequences tell nothing: unknown, not none.
    assert {rows["gelu-1m"][name] for name in ("positional", "oscillatory", "other", "peak")} == {None}


def test_positional_rows_have_counts_where_there_are_two_extremes(full: duckdb.DuckDBPyConnection) -> None:
    rows = positional_neurons(full, [plan.name for plan in MODELS])
    expected = sum(sum(n for (kind, _), n in kinds(one).items() if kind in KINDS) for one in (0, 1, 2))
    assert rows.height == expected
    has_extremes = pl.col("position_kind").is_in(["oscillatory", "both extremes"])
    assert rows.filter(has_extremes).get_column("counts").null_count() == 0
    assert rows.filter(~has_extremes).get_column("counts").null_count() == rows.filter(~has_extremes).height


def pooled(comparison: Comparison, model: str, of: list[int]) -> tuple[float, float]:
    rows = [row for row in comparison.layers.to_dicts() if row["model"] == model and row["layer"] in of]
    alive = [row["n_neurons"] - row["n_never_active"] for row in rows]
    dead = sum(row["n_dead"] for row in rows) / sum(row["n_neurons"] for row in rows)
    return dead, sum(row["mean_frequency"] * n for row, n in zip(rows, alive, strict=True)) / sum(alive)


def test_halves_of_the_network(full: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(full)
    rows = table(comparison.sections(), "halves of the network")
    # The middle of three layers is of the first half: 2 * 1 + 1 <= 3.
    for model, first, second in (("tiny-1m", [0], [1]), ("tiny-2m", [0, 1], [2])):
        row = rows[model]
        assert (row["dead 1st"], row["freq 1st"]) == pytest.approx(pooled(comparison, model, first))
        assert (row["dead 2nd"], row["freq 2nd"]) == pytest.approx(pooled(comparison, model, second))
    # Where no activation is exactly 0 none is dead, and half of them count.
    assert "gelu-1m" not in rows
    effective = table(comparison.sections(), "effective frequency of the median neuron, by depth")
    layers = comparison.layers.filter(model="gelu-1m").get_column("median_effective_frequency")
    assert set(effective) == {"gelu-1m"}
    assert list(effective["gelu-1m"].values())[1:] == pytest.approx(layers.to_list())
    # Stretches are those of the models that are told of: another with fewer layers leaves them as they are.
    alone = comparison.by_depth("mean_frequency", ["tiny-2m"])
    assert alone.columns == ["depth", "tiny-2m"]
    assert alone.height == comparison.layers.filter(model="tiny-2m").height == 3
    assert comparison.by_depth("mean_frequency").height == 2


def test_another_corpus_has_kinds_of_its_own(full: duckdb.DuckDBPyConnection) -> None:
    shown = compare(full, ["tiny-2m"]).typology.positions
    other = compare(full, ["tiny-2m"], corpus="builtin").typology.positions
    assert set(shown.get_column("corpus")) == {"long"}
    assert set(other.get_column("corpus")) == {"builtin"}
    assert set(other.get_column("n_sequences")) == {sum(POSITION_SEQUENCES[0].values())}
