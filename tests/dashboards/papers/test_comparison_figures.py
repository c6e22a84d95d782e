"""The papers' figures as files: each as PNG and SVG, and what cannot be drawn or written in a sentence."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from neurothek import main
from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.papers.folders import write_figures
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.reproduced import figures_of_comparison
from neurothek.queries.compare.comparison import compare
from neurothek.queries.names.models import choose_models
from tests.support.sentences import commands


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
        "10 figures of linear shortcuts are not drawn: none were fitted;"
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


def test_colours_are_those_of_the_whole_warehouse(full_path: Path) -> None:
    with Warehouse(full_path).reader() as connection:
        few = Material.of(connection, compare(connection, ["tiny-2m"]))
        everything = Material.of(connection, compare(connection))
        names = [model.name for model in choose_models(connection)]
    assert list(few.look.colours) == list(everything.look.colours) == names
    assert few.look.colours == everything.look.colours


def test_positional_neurons_are_those_of_the_corpus(full_path: Path) -> None:
    with Warehouse(full_path).reader() as connection:
        shown, asked = (
            Material.of(connection, compare(connection, ["tiny-2m"], corpus=corpus)) for corpus in (None, "builtin")
        )
    assert set(shown.positional["n_sequences"]) == {120}
    assert set(asked.positional["n_sequences"]) == {260}


def test_where_nothing_can_be_drawn_nothing_is_written(full_path: Path, tmp_path: Path) -> None:
    with Warehouse(full_path).reader() as connection:
        figures = figures_of_comparison(connection, compare(connection, ["weights-only"]))
    with pytest.raises(NotMeasured, match="no figure can be drawn") as raised:
        write_figures(figures, tmp_path / "figures")
    assert commands(raised.value) == [["ingest", "MODEL"]]
    assert list(tmp_path.iterdir()) == []
