"""The tokens of neurons: of one as bars, of several detectors as a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.dashboards.charts.axes import count_tooltip
from neurothek.dashboards.colours import ACCENT, CONTRAST

_MONOSPACED = "monospace"


_ROW_HEIGHT = 20


_PALE = 0.3

_GREY = "#8a8a8a"
"""Read on white and on black."""


def token_bars(tokens: pl.DataFrame, colour: str) -> alt.LayerChart:
    """The scores of a neuron's tokens as bars under each other, best first.

    Args:
        tokens: rows of one side with rank, token, score, z_score, corpus_count; with is_muted, bars of muted tokens are
            pale.
        colour: of the bars.
    """
    rows = tokens.with_columns(pl.col("token").map_elements(visible, return_dtype=pl.String))
    is_negative = float(rows.get_column("score").sum()) < 0
    # Room for the number behind the longest bar.
    edges = [0.0, *rows.get_column("score")]
    room = 0.18 * (max(edges) - min(edges)) or 1.0
    domain = [min(edges) - room, max(edges)] if is_negative else [min(edges), max(edges) + room]
    base = alt.Chart(rows).encode(
        alt.Y(
            "token:N",
            sort=alt.EncodingSortField("rank"),
            title=None,
            axis=alt.Axis(
                labelFont=_MONOSPACED,
                labelFontSize=12,
                labelLimit=190,
                labelOverlap=False,
                labelFlush=False,
                ticks=False,
                domain=False,
            ),
        ),
        # Both sides grow away from their tokens, so that the longest bar is the strongest on either.
        alt.X(
            "score:Q",
            title="score",
            axis=alt.Axis(tickCount=4),
            scale=alt.Scale(domain=domain, nice=False, reverse=is_negative),
        ),
        tooltip=[
            alt.Tooltip("rank:Q"),
            alt.Tooltip("token:N"),
            alt.Tooltip("score:Q", format=".3f"),
            alt.Tooltip("z_score:Q", format=".2f", title="z-score"),
            count_tooltip("corpus_count"),
        ],
    )
    numbers = base.mark_text(align="left", dx=4, fontSize=11, color=_GREY)
    drawn = base.mark_bar(color=colour, height=12)
    if "is_muted" in rows.columns:
        drawn = drawn.encode(opacity=alt.condition(alt.datum.is_muted, alt.value(_PALE), alt.value(1)))
    layers = [drawn, numbers.encode(alt.Text("score:Q", format=".2f"))]
    bars = alt.LayerChart(layer=layers)
    # On the chart and not in its configuration, so that it can stand beside others.
    bars.view = alt.ViewBackground(strokeWidth=0)
    bars.height = _ROW_HEIGHT * max(1, rows.height)
    return bars


LISTED = 10
"""Tokens of a detector that are shown on either side, and at most so many of its triggers as stand in half of them."""

_LINES = LISTED // 2
_LINE_HEIGHT = 17
_TABLE_WIDTH = 900
_LONGEST = 104
"""Pixels that a token may take."""

_COLUMNS: Mapping[str, int] = {"neuron": 0, "fires on": 220, "promotes": 440, "suppresses": 675}
"""Where the columns of the table begin."""

_SECOND = 112
"""Where numbers stand behind a trigger, and the second five tokens of a side behind the first."""

_INK: Mapping[str, str] = {"light": "#222222", "dark": "#e0e0e0"}


def detector_table(detectors: pl.DataFrame, theme: str = "light") -> alt.LayerChart:
    """What each detector fires on, with recall and score, beside the tokens that it promotes and suppresses most.

    Tokens that it fires on are bold where they stand among those that it promotes or suppresses.

    Args:
        detectors: rows with address, detected_tokens, recalls, scores, detected_share, n_active, pole, and with
            top_tokens and bottom_tokens, which are null where projections were not measured.
        theme: light or dark.
    """
    cells = [cell for place, row in enumerate(detectors.to_dicts()) for cell in _cells(row, place)]
    heads = [_cell(_HEADS[name], x, -1.2, "number") for name, x in _COLUMNS.items()]
    n_lines = detectors.height * (_LINES + 1)
    colours = {"ink": _INK[theme], "number": _GREY, "promoted": ACCENT[theme], "suppressed": CONTRAST[theme]}
    down = alt.Y("line:Q", axis=None, scale=alt.Scale(domain=[-2, n_lines - 1], reverse=True, nice=False))
    base = (
        alt.Chart(pl.DataFrame([*heads, *cells]))
        .mark_text(align="left", baseline="middle", font=_MONOSPACED, fontSize=11, limit=_COLUMNS["fires on"])
        .encode(
            alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, _TABLE_WIDTH], nice=False)),
            down,
            alt.Text("text:N"),
            alt.Color("role:N", legend=None, scale=alt.Scale(domain=list(colours), range=list(colours.values()))),
        )
    )
    # Weights are no channel of texts: two layers of them.
    layers = [base.transform_filter(alt.datum.is_bold), base.transform_filter(~alt.datum.is_bold)]
    layers[0] = layers[0].mark_text(
        align="left", baseline="middle", font=_MONOSPACED, fontSize=11, fontWeight="bold", limit=_LONGEST
    )
    rules = pl.DataFrame({"line": [place * (_LINES + 1) - 0.75 for place in range(detectors.height)]})
    between = alt.Chart(rules).mark_rule(color=_GREY, opacity=0.4).encode(down)
    whole = alt.LayerChart(layer=[between, *layers])
    whole.view = alt.ViewBackground(strokeWidth=0)
    whole.width, whole.height = _TABLE_WIDTH, _LINE_HEIGHT * (n_lines + 1)
    return whole


_HEADS: Mapping[str, str] = {
    "neuron": "neuron",
    "fires on": "fires on: token, recall, score",
    "promotes": "promotes most",
    "suppresses": "suppresses most",
}


def _cells(detector: Mapping[str, Any], place: int) -> Iterator[dict[str, Any]]:
    """The texts of one detector's lines."""
    first = place * (_LINES + 1)
    triggers = list(zip(detector["detected_tokens"], detector["recalls"], detector["scores"], strict=True))
    yield _cell(detector["address"], 0, first, "ink")
    yield _cell(f"{detector['detected_share']:.0%} of {detector['n_active']:,} times", 0, first + 1, "number")
    more = len(triggers) - _LINES
    lines = [f"{more} more tokens"] * (more > 0) + [f"at its {detector['pole']} pole"] * (detector["pole"] is not None)
    for line, text in enumerate(lines, start=2):
        yield _cell(text, 0, first + line, "number")
    for line, (token, recall, score) in enumerate(triggers[:_LINES]):
        yield _cell(shortened(token), _COLUMNS["fires on"], first + line, "ink")
        # A blank as wide as a figure: others are dropped where a text begins.
        numbers = f"{recall:4.0%} {score:+.2f}".replace(" ", "\u2007")
        role = "suppressed" if score < 0 else "promoted"
        yield _cell(numbers, _COLUMNS["fires on"] + _SECOND, first + line, role)
    yield from _side(detector["top_tokens"], detector["detected_tokens"], "promotes", first, "promoted")
    yield from _side(detector["bottom_tokens"], detector["detected_tokens"], "suppresses", first, "suppressed")


def _side(
    tokens: Sequence[str] | None, triggers: Sequence[str], column: str, first: int, role: str
) -> Iterator[dict[str, Any]]:
    for number, token in enumerate((tokens or ())[:LISTED]):
        x = _COLUMNS[column] + (number // _LINES) * _SECOND
        yield _cell(shortened(token), x, first + number % _LINES, role, is_bold=token in triggers)


_MOST_LETTERS = 15


def shortened(token: str) -> str:
    """The token with its white space marked, and cut where it would run into the next column."""
    text = visible(token)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _cell(text: str, x: float, line: float, role: str, *, is_bold: bool = False) -> dict[str, Any]:
    return {"text": text, "x": float(x), "line": float(line), "role": role, "is_bold": is_bold}
