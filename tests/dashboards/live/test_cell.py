"""One cell of a trace in words and as a table: the neurons' numbers, their links, and hostile tokens as themselves."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from neurothek.catalog.tables.traces import TRACE_LAYERS, Traced
from neurothek.dashboards.live.cell import added_little, cell_sentence, neurons_html, ordered, promoters_html
from neurothek.queries.trace.trace import NEURON_COLUMNS, TracePage

CELL: Mapping[str, Any] = {"predicted": " yes", "probability": 0.25, "final_rank": 1, "before": " yes"}


def neurons(**changed: Any) -> pl.DataFrame:
    row = {
        "layer": 1,
        "rank": 1,
        "neuron": 3,
        "address": "tiny/L1N3",
        "coefficient": 1.25,
        "contribution": 2.0,
        "share": 0.125,
        "score_candidate": 0.0,
        "score_final": -0.5,
        "score_token": None,
        "centred_candidate": 0.25,
        "centred_final": -0.375,
        "centred_token": None,
        "rank_candidate": 1,
        "rank_final": 1234,
        "rank_token": None,
        "top_tokens": [" <script>", "\n"],
        "bottom_tokens": [" <bottom>"],
        "writes": [" <script>", "\n"],
        "frequency": 0.015,
        "kind": "token detector",
        "n_tokens_seen": 4096,
        "corpus": "builtin",
    }
    return pl.DataFrame([row | changed], schema=dict(NEURON_COLUMNS))


def page(share: float | None) -> TracePage:
    layers = pl.DataFrame(
        [{"layer": 1, "dominant_share": share}], schema={"layer": pl.Int16, "dominant_share": pl.Float64}
    )
    nothing = pl.DataFrame(schema=dict(TRACE_LAYERS.columns))
    empty = (nothing, nothing, nothing, nothing)
    traced = Traced(("one",), 0, 7, 0.5, 1, False, None, *empty, 7, 0.5, 2.0, nothing)
    return TracePage("tiny", traced, " yes", None, layers, neurons(), nothing, " yes", nothing, is_signed=False)


def test_a_cell_says_what_it_predicts_and_what_the_ten_hold() -> None:
    held = " Ten neurons hold 27.0% of the summed sizes of the FFN's sub-updates:"
    assert cell_sentence(CELL, page(0.27), 1) == f"Predicts “·yes” (25.0%), as the whole model does.{held}"
    other = {**CELL, "predicted": " no", "final_rank": 1234}
    assert cell_sentence(other, page(0.27), 1) == (
        "Predicts “·no” (25.0%); “·yes” (50.0%), predicted in the end, has rank 1,234. Before the FFN it was “·yes”."
        f"{held}"
    )
    assert cell_sentence({**CELL, "before": None}, page(None), 1) == "Predicts “·yes” (25.0%), as the whole model does."


def test_a_neuron_is_a_link_with_its_numbers() -> None:
    shown = neurons_html(neurons(), " yes", "#123456")
    assert 'href="/neuron?neuron=tiny/L1N3"' in shown
    for text in (">L1N3</a>", "12.5%", "1.250", "-0.375", "1.5%", "adds to ·yes", "of 4,096 tokens of builtin"):
        assert text in shown
    assert ("raw: -0.500" in shown, ">1,234</td>" in shown, ">promotes</th>" in shown) == (True, True, True)
    assert ">·&lt;script&gt;</a>" in shown
    assert ">↵</a>" in shown
    assert "<script" not in shown


def test_a_neuron_of_a_signed_model_shows_what_it_writes() -> None:
    """At a coefficient below 0 that is the bottom of its list, and no column says that it promotes the top."""
    shown = neurons_html(neurons(coefficient=-1.25, writes=[" <bottom>"]), " yes", "#123456", is_signed=True)
    assert ">·&lt;bottom&gt;</a>" in shown
    assert ">·&lt;script&gt;</a>" not in shown
    assert (">writes</th>" in shown, ">promotes</th>" in shown) == (True, False)


@pytest.mark.parametrize("missing", ["share", "frequency", "writes", "rank_final"])
def test_what_is_not_known_is_a_dash_or_nothing(missing: str) -> None:
    shown = neurons_html(neurons(**{missing: None}), " yes", "#123456")
    assert "None" not in shown
    assert "nan" not in shown.casefold()
    if missing != "writes":
        assert ">-</td>" in shown


def test_tokens_lead_to_the_neurons_that_promote_them() -> None:
    shown = promoters_html([" <b>", " yes", " yes"])
    assert shown.count("<a ") == 2
    assert 'href="/search?words=yes"' in shown
    assert ">·&lt;b&gt;</a>" in shown


def test_tokens_that_are_muted_are_pale() -> None:
    some = neurons(writes=["\\xc3", " one", "\\xe2"])
    for pale in ([], ["\\xc3"], [" one", "\\xe2"]):
        shown = neurons_html(some, " yes", "#123456", pale)
        assert shown.count("nt-muted") == len(pale) + shown.count(".nt-muted")


def test_neurons_come_by_share_or_by_what_they_add() -> None:
    scores = {1: -0.5, 2: 0.25, 3: 0.0625}
    # Raw scores in the other order: what they have in common moves no token.
    some = pl.concat([neurons(rank=rank, centred_final=one, score_final=-one) for rank, one in scores.items()])
    assert ordered(some, "share").get_column("rank").to_list() == [1, 2, 3]
    assert ordered(some, "adds").get_column("rank").to_list() == sorted(scores, key=lambda rank: -scores[rank])
    assert added_little(some, " yes") == ""
    assert (
        added_little(some.filter(rank=1), " yes") == "None of the ten adds more than 0.1 to “·yes”: the most is -0.500."
    )
    assert added_little(some.clear(), " yes") == ""
