"""The figure of one neuron: its profile, what the subtitle says, and the command that writes it."""

import dataclasses
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from click.testing import CliRunner, Result

from neurothek import main
from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.positions import position_profile
from neurothek.dashboards.papers.neuron import neuron_figure, subtitle
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from tests.support.sentences import commands, sentence
from tests.support.tiny import POSITION_SEQUENCES
from tests.support.warehouse import hand_made


def page(path: Path, address: str, corpus: str | None = None) -> NeuronPage:
    with Warehouse(path).reader() as connection:
        return neuron_page(connection, address, corpus=corpus)


def drawn(chart: alt.Chart) -> list[dict[str, Any]]:
    (rows,) = chart.to_dict()["datasets"].values()
    return list(rows)


def test_every_position_is_drawn_where_its_counts_are_kept(full_path: Path) -> None:
    chart = position_profile(page(full_path, "tiny-1m/L0N0").positions)
    stored = {
        row["domain"]: row["counts"]
        for row in hand_made().rows["positions"]
        if (row["model_id"], row["corpus_id"], row["layer"], row["neuron"]) == (0, 0, 0, 0)
    }
    n_sequences = {**POSITION_SEQUENCES[0], "all": sum(POSITION_SEQUENCES[0].values())}
    rows = drawn(chart)
    assert len(rows) == 3 * 48
    for row in rows:
        # The first counted position is 1: the BOS stands at 0.
        assert row["frequency"] == stored[row["domain"]][int(row["position"]) - 1] / n_sequences[row["domain"]]


def test_bins_stand_at_their_middle(full_path: Path) -> None:
    rows = drawn(position_profile(page(full_path, "tiny-1m/L0N3").positions))
    assert {row["frequency"] for row in rows} == {0}
    assert [row["position"] for row in rows] == list(range(1, 49))


@pytest.mark.parametrize(
    ("address", "corpus", "label"),
    [
        ("tiny-1m/L0N0", None, "positional: oscillatory, strong; mutual information 0.69"),
        ("tiny-1m/L0N3", None, "not positional; mutual information 0.000 nats"),
        ("gelu-1m/L0N0", None, "too few sequences; mutual information"),
        ("tiny-1m/L0N0", "long", "positional: oscillatory, strong; mutual information"),
    ],
)
def test_the_subtitle_says_kind_information_and_sequences(
    full_path: Path, address: str, corpus: str | None, label: str
) -> None:
    shown = page(full_path, address, corpus)
    first, second = subtitle(shown)
    assert first.startswith(label)
    text = spoken_corpus(shown.corpus)
    assert second.startswith(f"{shown.positions['n_sequences'][0]:,} full-length sequences of {text}.")


def test_a_neuron_without_a_profile_is_refused(full_path: Path) -> None:
    with pytest.raises(
        NotMeasured, match="not measured on any text; measure it with `neurothek ingest weights-only --job"
    ):
        neuron_figure(page(full_path, "weights-only/L0N0"))


@pytest.mark.parametrize(("corpus", "on"), [(None, []), ("a text", ["--corpus", "a text"])])
def test_a_neuron_without_a_profile_is_told_with_the_command_of_its_model(
    full_path: Path, corpus: str | None, on: list[str]
) -> None:
    without = dataclasses.replace(page(full_path, "weights-only/L0N0"), address="my-model/L3N7", corpus=corpus)
    with pytest.raises(NotMeasured) as refused:
        neuron_figure(without, on=on)
    assert "my-model/L3N7" in sentence(refused.value)
    assert commands(refused.value) == [["ingest", "my-model", "--job", "positions", *on]]
    assert (refused.value.jobs, refused.value.models, refused.value.corpus) == (["positions"], ["my-model"], corpus)
    assert corpus is None or corpus in refused.value.message


def ask(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["neuron", *arguments, "--warehouse", str(path)], catch_exceptions=False)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_command_writes_it_beside_the_page(full_path: Path, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"out.{kind}"
    result = ask(full_path, "tiny-1m/L0N0", "--figure", str(file))
    assert result.exit_code == 0
    assert f"wrote {file}\n" in result.stderr
    assert "promotes" in result.stdout
    assert file.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("address", "name", "sentence"),
    [
        ("tiny-1m/L0N0", "out.bmp", "its name ends in .bmp; use .png or .svg"),
        ("tiny-1m/L0N0", "none/out.png", "No such file or directory"),
        ("weights-only/L0N0", "out.png", "there is no position profile of weights-only/L0N0"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    full_path: Path, tmp_path: Path, address: str, name: str, sentence: str
) -> None:
    result = ask(full_path, address, "--figure", str(tmp_path / name))
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
