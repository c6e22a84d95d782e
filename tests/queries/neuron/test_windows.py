"""Windows of a neuron's page are its coefficients and tokens, position by position; its histogram is the view's."""

from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.ask.statements import records
from neurothek.queries.neuron.contexts import BANDS, HISTOGRAM_COLUMNS, WINDOW_COLUMNS, sections
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from tests.support.tiny import MODELS, TEXTS, Neuron, address
from tests.support.warehouse import create, hand_made

MADE = hand_made()
NEURONS: list[Neuron] = [(0, 0, 0), (1, 2, 3), (3, 1, 1)]
every_neuron = pytest.mark.parametrize("neuron", NEURONS)


def page_of(connection: duckdb.DuckDBPyConnection, neuron: Neuron, corpus: str | None = None) -> NeuronPage:
    return neuron_page(connection, address(neuron), corpus=corpus)


@every_neuron
def test_every_token_has_its_activation(full: duckdb.DuckDBPyConnection, neuron: Neuron) -> None:
    frame, corpus_id = page_of(full, neuron).windows, MADE.shown[neuron[0]]
    texts = TEXTS[MODELS[neuron[0]].tokenizer_id]
    sequences = {row["sequence_id"]: row for row in MADE.rows["sequences"] if row["corpus_id"] == corpus_id}
    assert dict(frame.schema) == dict(WINDOW_COLUMNS)
    assert frame.height > 4
    for row in frame.to_dicts():
        start = row["position"] - row["place"]
        line = MADE.coefficients[corpus_id, neuron][row["sequence_id"]]
        there = line[start : start + len(row["tokens"])]
        sequence = sequences[row["sequence_id"]]
        assert row["tokens"] == [texts[token] for token in sequence["tokens"][start : start + len(there)]]
        assert row["domain"] == sequence["domain"]
        assert row["activations"] == pytest.approx(there, abs=max(map(abs, there)) / 254 + 1e-6)
        assert row["activation"] == row["activations"][row["place"]]


@every_neuron
def test_windows_are_the_rows_of_the_view(full: duckdb.DuckDBPyConnection, neuron: Neuron) -> None:
    """Tokens one below another there, side by side here."""
    query = f"""
        select
            band, part, rank,
            list(token order by position) as tokens, list(activation order by position) as activations,
        from context_windows where address = '{address(neuron)}' and is_shown group by band, part, rank
    """
    frame = page_of(full, neuron).windows
    expected = sorted(records(full, query), key=lambda row: (BANDS.index(row["band"]), row["rank"]))
    for row, of_view in zip(frame.to_dicts(), expected, strict=True):
        assert [row[name] for name in of_view] == list(of_view.values())


@every_neuron
def test_the_histogram_is_that_of_the_view(full: duckdb.DuckDBPyConnection, neuron: Neuron) -> None:
    frame = page_of(full, neuron).activation_histogram
    query = f"""
        select {", ".join(HISTOGRAM_COLUMNS)} from activation_histogram
        where address = '{address(neuron)}' and is_shown order by bin
    """
    assert dict(frame.schema) == dict(HISTOGRAM_COLUMNS)
    assert frame.to_dicts() == records(full, query) != []


def test_another_corpus_has_windows_of_its_own(full: duckdb.DuckDBPyConnection) -> None:
    shown, other = (page_of(full, (1, 2, 3), corpus).windows for corpus in (None, "builtin"))
    assert not shown.equals(other)
    assert not other.is_empty()


def test_before_any_text_there_are_none(full: duckdb.DuckDBPyConnection) -> None:
    page = page_of(full, (4, 0, 0))
    assert page.windows.is_empty()
    assert page.activation_histogram.is_empty()
    assert sections(page.windows, "none") == []


def test_a_run_of_the_first_version_has_places_alone(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    create(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from store.context_windows")
        connection.execute("delete from store.activation_histograms")
    with Warehouse(path).reader() as reader:
        page = page_of(reader, (0, 0, 0))
    assert page.windows.is_empty()
    assert page.activation_histogram.is_empty()
    assert not page.contexts.is_empty()


def test_a_dead_neuron_has_random_windows_alone(full: duckdb.DuckDBPyConnection) -> None:
    page = page_of(full, (0, 0, 3))
    assert set(page.windows.get_column("band")) == {"random"}
    assert page.windows.get_column("activations").list.max().to_list() == [0.0, 0.0]
    assert page.activation_histogram.get_column("bin").to_list() == [0]


def test_the_terminal_shows_a_few_lines_of_the_sample_and_of_chance(full: duckdb.DuckDBPyConnection) -> None:
    page = page_of(full, (0, 0, 0))
    (section,) = sections(page.windows, "builtin")
    assert section.frame.get_column("part").to_list()[:3] == ["upper", "middle", "lower"]
    assert set(section.frame.get_column("part")[3:]) == {"random"}
    (upper,) = page.windows.filter(band="quantile", rank=1).to_dicts()
    first = section.frame.row(0, named=True)
    assert first["token"] == upper["tokens"][upper["place"]]
    assert first["before"] + first["token"] + first["after"] in "".join(upper["tokens"])
    assert section.title in [one.title for one in page.sections()]


def test_a_page_asks_no_more_than_twenty_questions(full: duckdb.DuckDBPyConnection) -> None:
    for model_id in (0, 1, 3):
        for neuron in ((model_id, 0, 0), (model_id, 1, 1)):
            assert len(page_of(full, neuron).statements) <= 20
