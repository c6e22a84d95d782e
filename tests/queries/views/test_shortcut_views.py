"""The views of linear shortcuts against rows made by hand, on the shown corpus alone, and without any shortcuts."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support import plausible_rows, shortcut_rows, tiny
from tests.support import warehouse as made

MEASURED = ((0, 0), (0, 1), (1, 1))
"""(model, corpus); the first model is pinned to corpus 0, the second shows the larger one."""

FITS = shortcut_rows.fits(MEASURED)
PREDICTIONS = shortcut_rows.predictions(MEASURED)
SENTENCES = shortcut_rows.sentences(MEASURED)
TOPS = shortcut_rows.tops(MEASURED)
JUDGED = plausible_rows.judgements(SENTENCES, TOPS)
VIEWS = ("shortcut_fit", "shortcut_quality", "shortcut_readings", "plausibility")
NORMAL_975 = 1.959963984540054


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    path = tmp_path_factory.mktemp("shortcuts") / "w.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as writing:
        made.insert(writing, "shortcuts", FITS)
        made.insert(writing, "shortcut_predictions", PREDICTIONS)
        made.insert(writing, "shortcut_sentences", SENTENCES)
        made.insert(writing, "shortcut_tops", TOPS)
        made.insert(writing, "plausibility_judgements", JUDGED)
    return duckdb.connect(str(path), read_only=True)


def ask(connection: duckdb.DuckDBPyConnection, view: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = connection.sql(f"select * from {view}").pl().to_dicts()
    return rows


def shown(rows: list[tiny.Row]) -> list[tiny.Row]:
    data = made.hand_made()
    return [row for row in rows if data.shown[row["model_id"]] == row["corpus_id"]]


@pytest.mark.parametrize(
    ("view", "rows", "key"),
    [
        ("shortcut_fit", FITS, ("method", "source_state", "target_state")),
        ("shortcut_quality", PREDICTIONS, ("method", "state")),
    ],
)
def test_a_view_has_the_rows_of_the_shown_corpus(
    connection: duckdb.DuckDBPyConnection, view: str, rows: list[tiny.Row], key: tuple[str, ...]
) -> None:
    expected = {(tiny.MODELS[row["model_id"]].name, *(row[name] for name in key)): row for row in shown(rows)}
    answer = ask(connection, view)
    found = {(row["model"], *(row[name] for name in key)): row for row in answer}
    assert len(found) == len(answer)
    assert found.keys() == expected.keys()
    assert 0 < len(expected) < len(rows)
    for place, row in found.items():
        plan = tiny.MODELS[expected[place]["model_id"]]
        assert (row["size"], row["variant"]) == (plan.size, plan.variant)
        assert row["corpus"] == tiny.CORPORA[expected[place]["corpus_id"]][0]
        for name, value in expected[place].items():
            if name not in ("model_id", "corpus_id", "run_id"):
                assert row[name] == value
        depths = {"depth": "state", "source_depth": "source_state", "target_depth": "target_state"}
        for depth, state in depths.items():
            if state in row:
                assert row[depth] == row[state] / plan.n_layers


def test_readings_are_the_tokens_that_shortcuts_put_first(connection: duckdb.DuckDBPyConnection) -> None:
    answer = ask(connection, "shortcut_readings")
    key = ("sentence_id", "method", "state", "rank")
    found = {(row["model"], *(row[name] for name in key)): row for row in answer}
    expected = {(tiny.MODELS[row["model_id"]].name, *(row[name] for name in key)): row for row in shown(TOPS)}
    assert len(found) == len(answer) == len(expected) < len(TOPS)
    assert found.keys() == expected.keys()
    for place, top in expected.items():
        row, plan = found[place], tiny.MODELS[top["model_id"]]
        (own,) = [one["token_id"] for one in shown(TOPS) if is_last(one, top, plan.n_layers) and one["rank"] == 1]
        (sentence,) = [one for one in shown(SENTENCES) if is_same_sentence(one, top)]
        assert (row["domain"], row["sentence"]) == (sentence["domain"], sentence["text"])
        assert (row["token_id"], row["probability"]) == (top["token_id"], top["probability"])
        assert (row["token"], row["model_token"]) == (tiny.TEXTS[0][top["token_id"]], tiny.TEXTS[0][own])
        assert row["is_model_token"] == (top["token_id"] == own)
        assert row["depth"] == top["state"] / plan.n_layers
        assert row["corpus"] == tiny.CORPORA[top["corpus_id"]][0]


def test_at_the_last_state_the_first_token_alone_is_the_models(connection: duckdb.DuckDBPyConnection) -> None:
    rows = ask(connection, "shortcut_readings")
    last = [row for row in rows if row["depth"] == 1]
    assert {row["rank"]: row["is_model_token"] for row in last} == {1: True, 2: False, 3: False, 4: False, 5: False}
    assert {row["is_model_token"] for row in rows if row["depth"] < 1 and row["rank"] == 1} == {False}
    # Lower states put it among their first five: what Table 1 looks for.
    assert any(row["is_model_token"] for row in rows if row["depth"] < 1)


def is_same_sentence(one: tiny.Row, other: tiny.Row) -> bool:
    return all(one[name] == other[name] for name in ("model_id", "corpus_id", "sentence_id"))


def is_last(one: tiny.Row, other: tiny.Row, n_layers: int) -> bool:
    """A row of the whole model on the same sentence."""
    return is_same_sentence(one, other) and one["method"] == other["method"] and one["state"] == n_layers


@pytest.mark.parametrize("view", VIEWS)
def test_without_shortcuts_there_are_no_rows(tmp_path: Path, view: str) -> None:
    made.create(tmp_path / "w.duckdb", tables=frozenset({"projections", "postings"}))
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as bare:
        assert ask(bare, view) == []


def test_plausibility_by_loops(connection: duckdb.DuckDBPyConnection) -> None:
    data = made.hand_made()
    latest: dict[tuple[int, str, tuple[int, ...], str], tiny.Row] = {}
    for row in sorted(JUDGED, key=lambda row: row["created_at"]):
        latest[row["model_id"], row["text"], tuple(row["shown_token_ids"]), row["annotator"]] = row
    given = plausible_rows.lists_of(SENTENCES, TOPS)
    said: dict[tuple[str, str, int, str], list[tuple[str, bool]]] = {}
    for (model_id, text, shown_ids, annotator), row in latest.items():
        for corpus_id, _, method, state in given.get((model_id, text, shown_ids), ()):
            if data.shown[model_id] == corpus_id:
                for who in (annotator, "all"):
                    key = (tiny.MODELS[model_id].name, method, state, who)
                    said.setdefault(key, []).append((annotator, row["is_plausible"]))
    # A list that several shortcuts give was judged once and counts for each of them.
    assert any(len(places) > 1 for places in given.values())
    assert len(latest) < len(JUDGED)
    rows = ask(connection, "plausibility")
    assert {(row["model"], row["method"], row["state"], row["annotator"]) for row in rows} == set(said)
    precision = {
        (tiny.MODELS[row["model_id"]].name, row["method"], row["state"]): row["precision_1"]
        for row in shown(PREDICTIONS)
    }
    for row in rows:
        here = said[row["model"], row["method"], row["state"], row["annotator"]]
        n, n_plausible = len(here), sum(plausible for _, plausible in here)
        assert (row["n"], row["n_plausible"]) == (n, n_plausible)
        assert row["n_annotators"] == len({annotator for annotator, _ in here})
        assert row["plausible_share"] == n_plausible / n
        # Wilson's ends are the shares from which the observed one is 1.96 standard errors away.
        for end in (row["plausible_share_low"], row["plausible_share_high"]):
            distance = NORMAL_975 * (end * (1 - end) / n) ** 0.5 if 0 < end < 1 else 0
            assert abs(end - n_plausible / n) == pytest.approx(distance, abs=1e-7)
        assert row["plausible_share_low"] <= row["plausible_share"] <= row["plausible_share_high"]
        assert row["precision_1"] == precision[row["model"], row["method"], row["state"]]
        mat, identity = (precision[row["model"], method, row["state"]] for method in ("mat", "id"))
        assert row["precision_1_gain"] == mat - identity
