"""Neurons as rows of HTML: their numbers, their tokens and ways on, and which tokens are pale."""

import polars as pl

from neurothek.dashboards.parts.explore.promoted import muted_caption, rows_html
from neurothek.dashboards.parts.muted import Muted

COLUMNS = {"kind": ("kind", ""), "share": ("frequency", ".2%"), "unknown": ("never known", ".3f")}
NEURONS = pl.DataFrame(
    {
        "address": ["m/L0N1", "m/L2N3"],
        "kind": ["<b>", None],
        "share": [0.1234, None],
        "unknown": [None, None],
        "top_tokens": [[" tea", "\\xe2", "<i>"], None],
    },
    schema_overrides={"unknown": pl.Float64},
)
MUTED = Muted({"\\xe2": "byte", "another": "undertrained"})


def test_a_row_tells_what_is_known_and_leads_on() -> None:
    head, first, second = rows_html(NEURONS, COLUMNS, MUTED).split("<table")[1].split("<tr>")[1:]
    assert "frequency" in head
    assert "never known" not in head
    assert 'href="/neuron?neuron=m/L0N1"' in first
    assert "12.34%" in first
    assert "&lt;b&gt;" in first
    assert "<i>" not in first
    assert 'href="/search?words=tea"' in first
    assert '<td class="nt-right"></td>' in second


def test_only_muted_tokens_are_pale() -> None:
    shown = rows_html(NEURONS, COLUMNS, MUTED).split("<table")[1]
    assert shown.count("nt-muted") == 1
    assert "nt-muted" not in rows_html(NEURONS, COLUMNS, Muted()).split("<table")[1]
    assert muted_caption(NEURONS, MUTED) == "1 byte token muted"
    assert muted_caption(NEURONS, Muted()) == ""
