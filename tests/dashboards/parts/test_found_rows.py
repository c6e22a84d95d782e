"""Rows of neurons: each a link that takes the question along, with the reason why it was found."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import polars as pl
import pytest

from neurothek.dashboards.parts.found_rows import grid_html, measure_of, reason_html, search_rows_html, with_most_of_ffn

ASKED = {"word": "school", "found": "words=school&models=a,b"}
ROW: dict[str, Any] = {
    "place": 1,
    "address": "a/L0N1",
    "z_sum": 2.5,
    "side": "promoted",
    "matched": [" school", "<b>"],
    "matched_sides": ["promoted", "suppressed"],
    "matched_ranks": [42, 7],
    "matched_z_scores": [2.5, -1.25],
    "neighbours": [" tea", "\n"],
    "frequency": 0.125,
    "never_active": False,
}


def links(page: str, css: str) -> list[tuple[str, dict[str, list[str]]]]:
    """Path and questions of every link of a class."""
    found = re.findall(rf'<a class="nt-link {css}" target="_self" href="([^"]+)"', page)
    return [(urlsplit(unescape(one)).path, parse_qs(urlsplit(unescape(one)).query)) for one in found]


def test_a_row_leads_to_its_neuron_with_the_question() -> None:
    page = search_rows_html(pl.DataFrame([ROW]), ASKED, colour="#123456")
    (row,) = links(page, "nt-row")
    assert row == ("/neuron", {"neuron": ["a/L0N1"], "word": ["school"], "found": ["words=school&models=a,b"]})
    assert "·school" in page
    assert "rank 42, z-score 2.50" in page
    assert "suppressed, rank 7, z-score -1.25" in page
    assert "12.50%" in page
    assert "<b>" not in page.partition("</style>")[2].replace('<b class="nt-value">', "")


def test_the_z_score_of_a_single_token_is_said_once() -> None:
    single = {name: [ROW[name][0]] for name in ("matched", "matched_sides", "matched_ranks", "matched_z_scores")}
    page = search_rows_html(pl.DataFrame([ROW | single]), ASKED, colour="#123456")
    assert "<small>rank 42</small>" in page
    assert '<b class="nt-value">2.50</b>' in page
    assert '<span class="">z-score</span>' in page
    # Where no score stands beside it, it stands with the token.
    assert "rank 42, z-score 2.50" in grid_html({"a": pl.DataFrame([ROW | single])}, ASKED, most=1)


def test_of_a_gated_neuron_its_share_of_the_ffn_is_told() -> None:
    gated = ROW | {"pole": "negative", "pole_activation": -3.25}
    told = ROW | {"pole": "positive", "pole_activation": 1.125, "contribution_max": 0.0283, "effective_frequency": 0.8}
    page = search_rows_html(pl.DataFrame([told]), ASKED, colour="#123456")
    assert ">at most 0.028 of its FFN<" in page
    assert "+ pole, to 1.12" in page
    assert ">activity</span>" in page
    assert "12.50%" not in page
    before = search_rows_html(pl.DataFrame([told | {"contribution_max": None}]), ASKED, colour="#123456")
    assert ">effective 80%<" in before
    unknown = search_rows_html(pl.DataFrame([gated]), ASKED, colour="#123456")
    assert "\N{MINUS SIGN} pole, to -3.25" in unknown
    assert "open" not in unknown.partition("</style>")[2]


def test_the_share_of_the_ffn_is_that_of_the_neuron(full_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    path.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set activation_rule = 'gate > 0' where name = 'gelu-1m'")
        connection.execute("update store.neuron_facts set contribution_max = (neuron + 1) / 8")
        rows = connection.sql(
            "select model, layer, neuron, address, pole, contribution_max, effective_frequency from neurons"
            " where neuron % 3 = 0 order by neuron desc, model, layer"
        ).pl()
        told = with_most_of_ffn(connection, rows.drop("contribution_max", "effective_frequency"), None)
    assert {row["model"] for row in told.to_dicts() if row["contribution_max"] is not None} == {"gelu-1m"}
    for row, expected in zip(told.to_dicts(), rows.to_dicts(), strict=True):
        assert row["address"] == expected["address"]
        is_gated = expected["model"] == "gelu-1m"
        assert row["contribution_max"] == ((expected["neuron"] + 1) / 8 if is_gated else None)
        assert row["effective_frequency"] == (expected["effective_frequency"] if is_gated else None)


def test_a_suppressing_neuron_is_asked_for_that_side() -> None:
    page = search_rows_html(pl.DataFrame([ROW | {"side": "suppressed"}]), ASKED, colour="#123456")
    ((_, asked),) = links(page, "nt-row")
    assert asked["side"] == ["suppressed"]


def test_tokens_lead_to_the_search() -> None:
    page = search_rows_html(pl.DataFrame([ROW]), ASKED, colour="#123456")
    asked = [question for path, question in links(page, "nt-t") if path == "/search"]
    assert asked == [
        {"words": ["school"]},
        {"words": ["'<b>'"]},
        {"words": ["tea"]},
        {"words": ["↵"], "exact": ["yes"]},
    ]


def test_bars_are_as_long_as_the_numbers() -> None:
    rows = [ROW, ROW | {"place": 2, "z_sum": 1.0}, ROW | {"place": 3, "z_sum": -2.5}]
    widths = [
        float(width)
        for width in re.findall(r'"width: ([\d.]+)rem', search_rows_html(pl.DataFrame(rows), {}, colour=""))
    ]
    assert widths[1] / widths[0] == pytest.approx(1.0 / 2.5, abs=0.01)
    assert widths[2] == widths[0]


@pytest.mark.parametrize(
    ("row", "measure", "said"),
    [
        (
            {"strength": 0.5, "matched": [" the"], "recalls": [0.93], "shares": [0.25], "top_tokens": [" a"]},
            "strength",
            "on 93% of them, 25% of its activations",
        ),
        (
            {"overlap": 0.25, "null_99": 0.125, "n_promoted": 5, "n_suppressed": 3},
            "overlap",
            "5 promoted + 3 suppressed; random reaches 0.125",
        ),
        (
            {"overlap": 0.25, "null_99": None, "n_promoted": 5, "n_suppressed": 0},
            "overlap",
            "5 promoted + 0 suppressed",
        ),
        (
            {"score": 0.5, "token": " the", "rank": 1, "rank_from_bottom": 50272, "z_score": 4.5},
            "score",
            "rank 1, 50,272 from the bottom, z-score 4.50",
        ),
    ],
)
def test_every_kind_of_answer_says_why(row: dict[str, Any], measure: str, said: str) -> None:
    assert f"<small>{said}</small>" in reason_html(row)
    assert measure_of(pl.DataFrame([row])) == measure


def test_models_stand_beside_each_other_with_gaps_where_one_has_fewer() -> None:
    rows = [ROW | {"address": f"a/L0N{number}"} for number in range(3)]
    page = grid_html({"a": pl.DataFrame(rows), "b": pl.DataFrame(rows[:1])}, ASKED, most=2)
    body = re.findall(r"<tr>(.*?)</tr>", page)
    assert [line.count("<td>") for line in body] == [0, 2, 2]
    assert [len(links(line, "nt-row")) for line in body] == [0, 2, 1]


def test_a_narrow_window_shows_the_tokens_under_the_row() -> None:
    page = search_rows_html(pl.DataFrame([ROW]), {}, colour="")
    narrow = page.partition("@media (max-width: 1000px)")[2].partition("</style>")[0]
    assert ".nt-fires { grid-column: 5; }" in narrow
    assert ".nt-head > .nt-beside { display: none; }" in narrow
    # The headings alone are hidden, no row's tokens.
    assert narrow.count("display: none") == 1
    assert page.count('class="nt-beside"') == 2
