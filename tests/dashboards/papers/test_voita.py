"""The paper's figures for planted warehouses: which are drawn and why not, what each draws, and the files."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner, Result

from catalog.store.warehouse import Warehouse
from dashboards.charts import positions
from dashboards.charts.models import Look
from dashboards.charts.positions import covered_ranges
from dashboards.colours import model_colours
from dashboards.papers.figure import Figure
from dashboards.papers.material import Material
from dashboards.papers.voita import paper_figures
from neurothek import main
from queries.compare.comparison import compare
from queries.compare.kinds import KINDS, positional_neurons
from tests.support import detectors as planted
from tests.support import tiny

MODELS = [plan.name for plan in tiny.MODELS]


def material(connection: duckdb.DuckDBPyConnection, *models: str) -> Material:
    comparison = compare(connection, models)
    look = Look(model_colours(comparison.models["model"].to_list()), comparison.why_not())
    return Material(comparison, positional_neurons(connection, comparison.typology.models()), look)


@pytest.fixture(scope="module")
def whole(full_path: Path) -> Iterator[Material]:
    with Warehouse(full_path).reader() as connection:
        yield material(connection)


@pytest.fixture(scope="module")
def ngrams(tmp_path_factory: pytest.TempPathFactory) -> Material:
    path = tmp_path_factory.mktemp("paper") / "ngrams.duckdb"
    planted.publish(path)
    with Warehouse(path).reader() as connection:
        return material(connection)


def figures(of: Material) -> Mapping[int, Figure]:
    return {figure.number: figure for figure in paper_figures(of)}


def drawing(figure: Figure) -> dict[str, Any]:
    assert figure.chart is not None
    return dict(figure.chart.to_dict())


def panels(figure: Figure) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each panel with its rows."""
    whole = drawing(figure)
    parts = whole.get("hconcat", whole.get("concat", [whole]))
    return [
        (part, whole["datasets"][part["data"]["name"] if "data" in part else whole["data"]["name"]]) for part in parts
    ]


def caption(figure: Figure) -> str:
    return " ".join(drawing(figure)["title"]["subtitle"])


def test_what_was_not_measured_is_not_drawn_and_says_so(whole: Material, ngrams: Material) -> None:
    assert {n: one.why_not for n, one in figures(whole).items() if one.chart is None} == {
        **dict.fromkeys((2, 3, 4, 12, 13, 14, 15), "n-grams were not counted"),
        11: "there is no early checkpoint (variant 'step N') with its trained model",
    }
    assert {n: one.why_not for n, one in figures(ngrams).items() if one.chart is None} == {
        1: "no activity was measured",
        8: "positions were not measured",
        9: "no neuron fires nearly always at some positions and hardly ever at others",
        10: "there is no variant 'no-position' with a plain model of its size",
        11: "there is no early checkpoint (variant 'step N') with its trained model",
    }
    assert figures(whole)[8].name == "figure-08-positional-neurons"


def test_sizes_are_drawn_and_variants_are_not(whole: Material) -> None:
    assert whole.sizes() == ["weights-only", "tiny-1m", "gelu-1m", "tiny-2m"]
    for part, rows in panels(figures(whole)[1]):
        assert {row["model"] for row in rows} <= {"tiny-1m", "gelu-1m", "tiny-2m"}
        assert part["encoding"]["strokeDash"]["condition"]["test"]["oneOf"] == ["gelu-1m", "tiny-2m"]
    assert "Dashed, not comparable: gelu-1m (active means m > 0 instead of m != 0), tiny-2m (another text)." in caption(
        figures(whole)[1]
    )


def test_dead_shares_are_the_layers(whole: Material) -> None:
    (_, dead), (_, frequencies) = panels(figures(whole)[1])
    layers = {(row["model"], row["layer"]): row for row in whole.comparison.layers.to_dicts()}
    for rows, name in ((dead, "dead_share"), (frequencies, "mean_frequency")):
        for row in rows:
            assert row[name] == layers[row["model"], row["layer"]][name]
    # No neuron of a model without exact zeros is dead, so its line is missing and not at 0.
    assert {row["model"] for row in dead} == {"tiny-1m", "tiny-2m"}


def test_a_bar_is_all_the_alive_neurons_of_a_layer_of_the_first_half(ngrams: Material) -> None:
    drawn = panels(figures(ngrams)[2])
    assert [part["title"]["text"] for part, _ in drawn] == list(planted.MODELS)
    for _, rows in drawn:
        assert {row["layer"] for row in rows} == {0}
        assert sum(row["share"] for row in rows) == pytest.approx(1)


def test_what_layers_detect_is_split_by_what_lies_below(ngrams: Material) -> None:
    layers = [
        {ngram for (at, _), one in planted.detectors("planted", 1).items() if at == layer for ngram in one.detected}
        for layer in (0, 1)
    ]
    ((_, rows), (_, shuffled)) = panels(figures(ngrams)[4])
    found = {(row["layer"], row["known"]): row["n_ngrams"] for row in rows}
    assert found == {
        (0, "nowhere below"): len(layers[0]),
        (0, "below, but not in the layer just below"): 0,
        (0, "in the layer just below"): 0,
        (1, "nowhere below"): len(layers[1] - layers[0]),
        (1, "below, but not in the layer just below"): 0,
        (1, "in the layer just below"): len(layers[1] & layers[0]),
    }
    assert {row["n_ngrams"] for row in shuffled} == {0}


def test_detectors_by_layer_are_counted_in_the_caption(ngrams: Material) -> None:
    number = len(planted.detectors("planted", 1))
    assert f"Detectors: {number} in planted, 0 in shuffled." in caption(figures(ngrams)[3])
    (_, rows), *_ = panels(figures(ngrams)[3])
    expected = Counter(layer for layer, _ in planted.detectors("planted", 1))
    assert {row["layer"]: row["n_detectors"] for row in rows if row["model"] == "planted"} == dict(expected)


def test_shorter_ngrams_stand_in_where_trigrams_cannot_be_labelled(ngrams: Material) -> None:
    assert planted.can_be_labelled("planted", 3)
    assert "cannot be labelled" not in caption(figures(ngrams)[14])
    kinds = ngrams.kinds
    undecided = pl.when(pl.col("n") == 3).then(pl.lit("cannot be labelled")).otherwise("status").alias("status")
    less = type(kinds)(**{**vars(kinds), "detectors": kinds.detectors.with_columns(undecided)})
    instead = Material(
        type(ngrams.comparison)(**{**vars(ngrams.comparison), "typology": less}), ngrams.positional, ngrams.look
    )
    for number in (14, 15):
        assert "Bigrams, because trigrams cannot be labelled" in caption(figures(instead)[number])


def test_every_positional_neuron_is_one_circle(whole: Material) -> None:
    for number, models in ((8, ["tiny-1m", "tiny-2m"]), (10, ["tiny-2m", "tiny-2m-nopos"])):
        drawn = panels(figures(whole)[number])
        assert [part["title"]["text"] for part, _ in drawn] == models
        for (_, rows), model in zip(drawn, models, strict=True):
            expected = whole.positional.filter(pl.col("model") == model).get_column("address").to_list()
            assert sorted(row["address"] for row in rows) == sorted(expected)
            assert len({(row["x"], row["row"]) for row in rows}) == len(rows)
            assert all(abs(row["x"] - row["layer"]) < 0.5 for row in rows)
    assert "gelu-1m: too few sequences of full length." in caption(figures(whole)[8])


@pytest.mark.parametrize("n", [1, 20, 21, 500])
def test_circles_of_crowded_layers_stand_beside_each_other(n: int) -> None:
    rows = pl.DataFrame(
        {
            "model": ["m"] * n,
            "layer": [1] * n,
            "neuron": range(n),
            "address": [f"m/L1N{i}" for i in range(n)],
            "position_kind": [KINDS[i % 4] for i in range(n)],
            "position_strength": ["strong" if i % 3 else "weak" for i in range(n)],
            "mutual_information_corrected": [0.1] * n,
        }
    )
    chart = positions.positional(rows, [("m", "")], {"m": 3}).to_dict()
    (drawn,) = chart["datasets"].values()
    assert len({(row["x"], row["row"]) for row in drawn}) == n
    assert all(0.5 < row["x"] < 1.5 for row in drawn)
    # From the foot up, the kinds stand in their order.
    by_place = sorted(drawn, key=lambda row: (row["row"], row["column"]))
    assert [KINDS.index(row["position_kind"]) for row in by_place] == sorted(i % 4 for i in range(n))


def test_ranges_are_the_positions_where_a_neuron_mostly_fires(whole: Material) -> None:
    team = whole.positional.filter(pl.col("counts").is_not_null())
    covered = {
        (address, position)
        for address, start, stop in covered_ranges(team).select("address", "start", "stop").iter_rows()
        for position in range(start, stop)
    }
    expected = {
        (row["address"], row["first_position"] + place)
        for row in team.to_dicts()
        for place, count in enumerate(row["counts"])
        if count / row["n_sequences"] > 0.5
    }
    assert covered == expected


def test_the_team_is_the_largest_of_the_strongest_kind(whole: Material) -> None:
    strong = whole.positional.filter(
        (pl.col("position_kind") == "oscillatory")
        & (pl.col("position_strength") == "strong")
        & pl.col("model").is_in(whole.sizes())
    )
    sizes = Counter(strong.select("model", "layer").iter_rows())
    figure = figures(whole)[9]
    assert f"has the most: {max(sizes.values())} neurons" in caption(figure)
    ((_, rows),) = panels(figure)
    model, layer = next(iter({tuple(row["address"].split("N")[0].split("/L")) for row in rows}))
    assert sizes[model, int(layer)] == max(sizes.values())
    weak = Material(
        whole.comparison, whole.positional.with_columns(pl.lit("weak").alias("position_strength")), whole.look
    )
    assert "strong oscillatory neurons; there are none here: these are" in caption(figures(weak)[9])


def test_checkpoints_stand_in_the_order_of_training(whole: Material) -> None:
    names = {"tiny-2m-nopos": "step 1000", "tiny-1m": "step 250"}
    models = whole.comparison.models.with_columns(
        pl.col("model").replace_strict(names, default=None, return_dtype=pl.String).alias("variant"),
        pl.lit("tiny").alias("family"),
        pl.lit(2_000_000).alias("size"),
    ).filter(pl.col("model") != "weights-only")
    trained = Material(
        type(whole.comparison)(**{**vars(whole.comparison), "models": models}), whole.positional, whole.look
    )
    drawn = panels(figures(trained)[11])
    # The plain model comes last; the gelu model, plain too, has too few sequences.
    assert [part["title"]["text"] for part, _ in drawn][:2] == ["tiny-1m", "tiny-2m-nopos"]


def ask(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments, "--warehouse", str(path)], catch_exceptions=False)


def test_the_command_writes_each_as_png_and_svg_and_says_which_are_missing(full_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    result = ask(full_path, "--figure", str(folder))
    assert result.exit_code == 0
    names = ["figure-01-dead-neurons", "figure-08-positional-neurons", "figure-09-position-ranges"]
    names.append("figure-10-without-positions")
    assert sorted(file.name for file in folder.iterdir()) == [
        f"{name}.{kind}" for name in names for kind in ("png", "svg")
    ]
    assert "figure 2 is not drawn: n-grams were not counted\n" in result.stderr
    assert f"wrote {folder / names[0]}.png, .svg\n" in result.stderr
    assert "halves of the network" in result.stdout
    # What all of them lack is said once, with the command that brings it.
    (said,) = [line for line in result.stderr.splitlines() if "shortcuts" in line]
    assert said == (
        "7 figures of linear shortcuts are not drawn: none were fitted;"
        f" fit them with `neurothek ingest MODEL --job shortcuts --job exits --warehouse {full_path}`"
    )


def test_a_folder_that_takes_nothing_is_one_sentence(full_path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    result = ask(full_path, "--figure", str(tmp_path / "file"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot write the figure" in result.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_models_without_text_have_no_figures(full_path: Path, tmp_path: Path) -> None:
    result = ask(full_path, "weights-only", "--figure", str(tmp_path / "figures"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "none of these models was measured on text" in result.stderr
    assert list(tmp_path.iterdir()) == []
