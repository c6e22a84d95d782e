"""What a search found, as rows to read and to walk: each leads to its neuron and takes the question along."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from neurothek.dashboards.parts.muted import Muted, muted_at, reasons_caption
from neurothek.dashboards.parts.token_cards import SIGN_OF_POLE
from neurothek.dashboards.widgets.html import SHEET
from neurothek.dashboards.widgets.links import link_html, token_link
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import choose_models
from neurothek.queries.search.poles import listed_side
from neurothek.queries.views.rows import with_facts

MEASURES: Mapping[str, str] = {"z_sum": "z-score", "strength": "strength", "overlap": "overlap", "score": "raw score"}
"""Columns by which an answer is in order, and what people call them; the first that an answer has is its own."""

_DIGITS: Mapping[str, int] = {"z_sum": 2, "strength": 3, "overlap": 3, "score": 3}
"""After the point: as many in every row, so that numbers under each other compare at a glance."""

_MOST_TOKENS = 8
_SHEET = """
<style>
.nt-found { display: grid; grid-template-columns: max-content max-content 9.5rem minmax(10rem, 1.3fr) 2fr max-content;
  font-size: 0.93rem; align-items: baseline; }
.nt-found > div { display: contents; }
.nt-found > div > span { padding: 0.28rem 1rem 0.28rem 0; border-bottom: 1px solid #8a8a8a22; min-width: 0;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; height: 100%; box-sizing: border-box; }
.nt-found .nt-head > span { opacity: 0.7; }
.nt-found .nt-bar { display: inline-block; height: 0.6rem; border-radius: 0.15rem; }
.nt-found .nt-value { display: inline-block; min-width: 2.8rem; font-weight: 400; font-variant-numeric: tabular-nums; }
.nt-found .nt-fires { text-align: right; }
.nt-why { margin-right: 0.9rem; }
.nt-why small, .nt-faint { opacity: 0.7; font-variant-numeric: tabular-nums; }
.nt-grid { overflow-x: auto; }
.nt-grid table { border-collapse: collapse; font-size: 0.93rem; font-variant-numeric: tabular-nums; }
.nt-grid th { text-align: left; font-weight: 600; }
.nt-grid th, .nt-grid td { padding: 0.2rem 1.4rem 0.2rem 0; border: 0; border-bottom: 1px solid #8a8a8a22;
  white-space: nowrap; vertical-align: baseline; }
@media (max-width: 1000px) {
  .nt-found { grid-template-columns: max-content max-content 9.5rem minmax(8rem, 1fr) max-content;
    grid-auto-flow: row dense; }
  .nt-found > div > span { border-bottom: 0; }
  .nt-found .nt-fires { grid-column: 5; }
  .nt-found > div > .nt-beside { grid-column: 1 / -1; padding: 0 0 0.4rem 2rem; border-bottom: 1px solid #8a8a8a22;
    white-space: normal; }
  .nt-found > .nt-head > .nt-beside { display: none; }
}
</style>
"""


def measure_of(neurons: pl.DataFrame) -> str:
    """The column that an answer is in order of."""
    return next(name for name in MEASURES if name in neurons.columns)


def search_rows_html(
    neurons: pl.DataFrame, parameters: Mapping[str, str], *, colour: str, muted: Mapping[str, Muted] | None = None
) -> str:
    """The neurons of an answer under each other.

    Args:
        neurons: rows of an answer, with place, address and what else its search tells.
        parameters: what each neuron's page is asked for besides its address.
        colour: of the bars, as #rrggbb.
        muted: model -> its tokens to show pale; None: none.
    """
    measure = measure_of(neurons)
    most = max((abs(value) for value in neurons.get_column(measure).drop_nulls()), default=0.0) or 1.0
    head = "".join(f'<span class="{css}">{text}</span>' for text, css in _head(measure, neurons.columns))
    rows = "".join(
        _row(row, measure, most, parameters, colour=colour, muted=_of(row, muted)) for row in neurons.to_dicts()
    )
    return f'{SHEET}{_SHEET}<div class="nt-found"><div class="nt-head">{head}</div>{rows}</div>'


def with_most_of_ffn(connection: duckdb.DuckDBPyConnection, neurons: pl.DataFrame, corpus: str | None) -> pl.DataFrame:
    """The neurons of an answer, those of gated models with `contribution_max` and `effective_frequency`.

    Args:
        connection: a reader.
        neurons: rows of an answer, with model, layer and neuron.
        corpus: name of the corpus that the answer tells of; None: the shown ones.
    """
    if "pole" not in neurons.columns or neurons.get_column("pole").null_count() == neurons.height:
        return neurons
    models = {model.name: model for model in choose_models(connection)}
    places = ("model", "layer", "neuron")
    rows = neurons.filter(pl.col("pole").is_not_null()).select(places).unique(maintain_order=True).to_dicts()
    gated = [{**row, "model_id": models[row["model"]].model_id} for row in rows]
    with Reading(connection, sorted({row["model"] for row in rows}), corpus) as reader:
        facts = with_facts(reader.connection(), gated, list(_OF_GATED), is_elsewhere=corpus is not None)
    schema = pl.Schema({**{name: neurons.schema[name] for name in places}, **_OF_GATED})
    columns = pl.DataFrame([{name: row[name] for name in schema} for row in facts], schema=schema)
    return neurons.join(columns, on=places, how="left", maintain_order="left")


_OF_GATED: Mapping[str, pl.DataType] = {"contribution_max": pl.Float64(), "effective_frequency": pl.Float64()}
"""What says how active a neuron is whose gate is open or not, and large or small either way."""


def grid_html(answers: Mapping[str, pl.DataFrame], parameters: Mapping[str, str], *, most: int) -> str:
    """The first neurons of several models beside each other: a column a model.

    Args:
        answers: rows of each model's answer, by its name.
        parameters: what each neuron's page is asked for besides its address.
        most: rows to show.
    """
    head = "".join(f"<th>{html.escape(model)}</th>" for model in answers)
    n_rows = min(most, max((answer.height for answer in answers.values()), default=0))
    lists = [answer.head(n_rows).to_dicts() for answer in answers.values()]
    body = "".join(f"<tr>{''.join(_cell(rows, place, parameters) for rows in lists)}</tr>" for place in range(n_rows))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'{SHEET}{_SHEET}<div class="nt-grid">{table}</div>'


def reason_html(row: Mapping[str, Any], *, has_score_beside: bool = False) -> str:
    """Why a neuron was found: its tokens with their rank and z-score, what it fires on, or how much it shares.

    Args:
        row: of an answer.
        has_score_beside: whether the row shows its score, which is the z-score of a single token.
    """
    if "matched_ranks" in row:
        is_said = has_score_beside and len(row["matched"]) == 1
        z_scores = [None] if is_said else row["matched_z_scores"]
        return "".join(map(_word, row["matched"], row["matched_sides"], row["matched_ranks"], z_scores))
    if "recalls" in row:
        return "".join(map(_trigger, row["matched"], row["recalls"], row["shares"]))
    if "overlap" in row:
        return _shared(row)
    return _why(token_link(row["token"]), _scored(row))


def _head(measure: str, columns: Sequence[str]) -> list[tuple[str, str]]:
    heading = "shares" if measure == "overlap" else "fires on" if "recalls" in columns else "token found"
    beside = "promotes" if "top_tokens" in columns else "other tokens of its list"
    return [
        ("", ""),
        ("neuron", ""),
        (MEASURES[measure], ""),
        (heading, ""),
        (beside, "nt-beside"),
        ("activity" if "contribution_max" in columns else "frequency", "nt-fires"),
    ]


def muted_caption(neurons: pl.DataFrame, muted: Mapping[str, Muted]) -> str:
    """How many of the tokens beside the found neurons are muted, and why."""
    rows = neurons.to_dicts()
    return reasons_caption(
        reasons[token]
        for row in rows
        for reasons in (_of(row, muted).reasons,)
        for token in _beside(row)
        if token in reasons
    )


def _of(row: Mapping[str, Any], muted: Mapping[str, Muted] | None) -> Muted:
    return muted_at(row["address"], muted)


def _beside(row: Mapping[str, Any]) -> Sequence[str]:
    """The tokens beside a neuron."""
    return (row.get("top_tokens") or row.get("neighbours") or [])[:_MOST_TOKENS]


def _pole(row: Mapping[str, Any]) -> str:
    """At which sign of its coefficient a neuron of a gated model does so; nothing for others."""
    if row.get("pole") is None:
        return ""
    strongest = row.get("pole_activation")
    sign = SIGN_OF_POLE[row["pole"]]
    return _why("", f"{sign} pole{'' if strongest is None else f', to {strongest:.3g}'}")


def _row(
    row: Mapping[str, Any], measure: str, most: float, parameters: Mapping[str, str], *, colour: str, muted: Muted
) -> str:
    value = row[measure]
    width = 5.5 * abs(value) / most
    number = f'<b class="nt-value">{value:.{_DIGITS[measure]}f}</b>'
    bar = f'{number}<i class="nt-bar" style="width: {width:.2f}rem; background: {colour}"></i>'
    link_parameters = {
        **parameters,
        **({"side": "suppressed"} if row.get("side") and listed_side(row) == "suppressed" else {}),
    }
    beside = "".join(token_link(token, css=muted.css(token)) for token in _beside(row))
    return (
        f'<div><span class="nt-faint">{row["place"]}</span>'
        f"<span>{link_html(row['address'], 'neuron', css='nt-row', neuron=row['address'], **link_parameters)}</span>"
        f"<span>{bar}</span><span>{reason_html(row, has_score_beside=True)}{_pole(row)}</span>"
        f'<span class="nt-beside">{beside}</span>'
        f'<span class="nt-fires nt-faint">{_firing(row)}</span></div>'
    )


def _cell(rows: Sequence[Mapping[str, Any]], place: int, parameters: Mapping[str, str]) -> str:
    if place >= len(rows):
        return "<td></td>"
    row = rows[place]
    short = row["address"].rpartition("/")[2]
    link = link_html(short, "neuron", css="nt-row", neuron=row["address"], **parameters)
    return f"<td>{link} &ensp;{reason_html(row)}</td>"


def _word(token: str, side: str, rank: int, z_score: float | None) -> str:
    place = f"{'suppressed, ' if side == 'suppressed' else ''}rank {rank}"
    place += "" if z_score is None else f", z-score {z_score:.2f}"
    return _why(token_link(token), place)


def _trigger(token: str, recall: float, share: float) -> str:
    return _why(token_link(token), f"on {recall:.0%} of them, {share:.0%} of its activations")


def _shared(row: Mapping[str, Any]) -> str:
    counts = f"{row['n_promoted']} promoted + {row['n_suppressed']} suppressed"
    if row.get("null_99") is not None:
        counts += f"; random reaches {row['null_99']:.3f}"
    return _why("", counts)


def _scored(row: Mapping[str, Any]) -> str:
    return f"rank {row['rank']:,}, {row['rank_from_bottom']:,} from the bottom, z-score {row['z_score']:.2f}"


def _why(what: str, text: str) -> str:
    return f'<span class="nt-why">{what} <small>{html.escape(text)}</small></span>'


_MOST_OF_FFN = "The largest length of what it adds, over the length of its FFN's output at the token."


def _firing(row: Mapping[str, Any]) -> str:
    if row.get("pole") is not None:
        # How often its gate is open says little of a neuron: one whose gate never is may do much all the same.
        share, effective = row.get("contribution_max"), row.get("effective_frequency")
        if share is not None:
            return f'<span title="{_MOST_OF_FFN}">at most {share:.2g} of its FFN</span>'
        return "" if effective is None else f"effective {effective:.0%}"
    frequency = row.get("frequency")
    if row.get("never_active"):
        return "never"
    return "" if frequency is None else f"{frequency:.2%}"
