"""How ten neurons score a token, a small chart per model: of an event, by layer, and of extreme updates."""

import html
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import visible
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.charts.predictions import events
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.figures import Data, data_of, data_of_models, show_figure, show_source
from neurothek.dashboards.widgets.html import SHEET, legend_html, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.reading import Reading

GEVA = "Geva et al. 2022"
SCORES_SOURCE = (
    f"After Table 4 of {GEVA}, whose scores are raw: those stand in the table below. Taking their mean over all tokens "
    "off, which moves none, and scores through the final norm, in units of the logit, are this project's."
)
LAYERS_SOURCE = (
    f"After Figure 3 of {GEVA}, whose scores are raw (the figure of `reproduce` is): there the mean is not "
    "negative until the last layers, where scores spread and strongly negative minima appear. Taking the mean over all "
    "tokens off, and random active sub-updates, are this project's."
)
EXTREMES_SOURCE = f"Section 5.2 of {GEVA}, who sort clusters by reading them; the bounds are this project's."
_MOST_COLUMNS = 4
_EXTREMES_HEIGHT = 130


def show_scores(reader: Reading, models: Sequence[str], told: str) -> None:
    """What ten neurons do to the token that settles, and to the one that is pushed down.

    Args:
        reader: what the page reads.
        models: names, in the order in which they are shown.
        told: the one of them that the sentence is about.
    """
    data = data_of(reader, "event_scores", {"models": list(models)})
    if data.frame.is_empty():
        return
    st.subheader("What ten neurons do to the token of an event", anchor=False)
    st.markdown(plain(told_scores(data.frame, told)))
    st.html(legend_html(events.UPDATE_COLOURS))
    domain = events.bounds(data.frame, "median_min_centred", "median_max_centred")
    for model, rows in _in_columns(models, data.frame):
        n_events = rows.unique("event").get_column("n_events").sum()
        caption = f"{n_events:,} events that an FFN caused."
        _show(model, partial(events.score_ranges, rows, domain), caption, data, SCORES_SOURCE)
    st.caption(
        "Scores m (e . v) less their mean over all tokens, medians over events but those at position 0. Dots: the mean "
        "of ten sub-updates. Lines: from the smallest to the largest of ten."
    )
    with st.expander("All scores"):
        named = pl.col("kind").replace(events.KIND_NAMES)
        tables.show_table(data.frame.drop("corpus").with_columns(named), key="event_scores")
        show_source(data)


def told_scores(rows: pl.DataFrame, model: str) -> str:
    """The median scores of a model's dominant sub-updates, and of random ones, in a sentence.

    Args:
        rows: of the view `event_scores`.
        model: which one.
    """
    means: dict[tuple[str, str], float] = {
        (row["event"], row["kind"]): row["median_mean_centred"] for row in rows.filter(model=model).to_dicts()
    }

    def mean(event: str, kind: str) -> str:
        number = means.get((event, kind))
        return "an unknown amount" if number is None else f"{number:+.2f}"

    return (
        f"In {model}, a dominant neuron adds {mean('saturation', 'dominant')} more to the score of the token that "
        f"settles than to that of the mean token in the median event, and "
        f"{mean('elimination', 'dominant')} to that of the one that is pushed down; "
        f"a random neuron {mean('saturation', 'random')} and {mean('elimination', 'random')}."
    )


def show_layers(reader: Reading, models: Sequence[str], told: str) -> None:
    """What ten neurons do to the token at the top before their layer, and how much of the update they hold.

    Args:
        reader: what the page reads.
        models: names, in the order in which they are shown.
        told: the one of them that the sentence is about.
    """
    frames = [data_of(reader, "top_candidate_scores", {"model": model}) for model in models]
    known = {model: data for model, data in zip(models, frames, strict=True) if not data.frame.is_empty()}
    if not known:
        return
    st.subheader("By layer, for the token at the top", anchor=False)
    shares = data_of_models(reader, "dominant_share", models, "layer")
    st.markdown(plain(told_shares(shares.frame, told)))
    link = link_html("Compare sizes", "compare", models=",".join(models), corpus=reader.corpus or "")
    st.html(f"<div>The curves by depth are on {link}.</div>")
    whole = pl.concat([data.frame for data in known.values()])
    domain = events.bounds(whole, "median_min_centred", "median_max_centred")
    for model, rows in _in_columns(list(known), whole):
        caption = f"Up to {max(rows.get_column('n_examples').to_list()):,} examples a layer."
        _show(model, partial(events.candidate_bands, rows, domain), caption, known[model], LAYERS_SOURCE)
    st.caption(
        "Scores m (e . v) for the token at the top before the FFN, less their mean over all tokens, medians over "
        "examples but those at position 0. Bands: from the smallest to the largest of ten sub-updates. Lines: their "
        "mean."
    )


def told_shares(rows: pl.DataFrame, model: str) -> str:
    """How much of an update ten dominant neurons of a model hold, beside ten random ones, in a sentence.

    Args:
        rows: of the view `dominant_share`.
        model: which one.
    """
    own = rows.filter(model=model)
    dominant = _mean(own, "dominant_share", "n_examples")
    random = _mean(own, "random_share", "n_random_examples")
    if dominant is None:
        return ""
    others = "" if random is None else f"; ten random others hold {random:.1%}"
    return f"In {model}, the ten dominant neurons hold {dominant:.0%} of a layer's update on average{others}."


def show_extremes(reader: Reading, models: Sequence[str]) -> None:
    """Which clusters the extreme updates come from."""
    data = data_of_models(reader, "extreme_updates", models, "kind")
    if data.frame.is_empty():
        return
    st.subheader("Where extreme updates come from", anchor=False)
    st.html(legend_html(events.EXTREME_COLOURS))
    having = [model for model in models if model in set(data.frame.get_column("model"))]
    for model, rows in _in_columns(having, data.frame):
        caption = f"{rows.get_column('n_extreme').sum():,} extreme updates."
        _show(model, partial(_extremes, rows), caption, data, EXTREMES_SOURCE)
    st.caption(
        "Clusters with an extreme update, by kind, beside their share of all value vectors. Specific: top tokens at "
        "most as frequent as those of the model's average neuron."
    )


def _extremes(rows: pl.DataFrame) -> Drawing:
    return events.extreme_kinds(rows).properties(height=_EXTREMES_HEIGHT)


def _in_columns(models: Sequence[str], frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each model with its rows, in a column of its own."""
    n_columns = min(_MOST_COLUMNS, max(2, len(models)))
    for start in range(0, len(models), n_columns):
        for column, model in zip(st.columns(n_columns, gap="medium"), models[start : start + n_columns], strict=False):
            with column:
                yield model, frame.filter(model=model)


def _show(model: str, draw: Callable[[], Drawing], caption: str, data: Data, source: str) -> None:
    own = data.showing(f"{data.name}_{model}", data.frame.filter(model=model))
    show_figure(model, lambda _: draw(), caption, own, source=source)


def _mean(rows: pl.DataFrame, share: str, weight: str) -> float | None:
    """A share, averaged over examples; None where there are none."""
    known = rows.filter(pl.col(share).is_not_null() & (pl.col(weight) > 0))
    total = int(known.get_column(weight).sum())
    return float((known[share] * known[weight]).sum() / total) if total else None


_MOST_LETTERS = 90
"""Of a text the end is shown, where the word follows."""

_SHEET = """
<style>
.nt-event { display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content; gap: 0 1.2rem;
  font-size: 0.88rem; }
.nt-event > span { padding: 0.22rem 0; border-bottom: 1px solid #8a8a8a22; }
.nt-event .nt-prompt { font-family: monospace; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  direction: rtl; text-align: left; }
.nt-event bdi { direction: ltr; unicode-bidi: isolate; }
</style>
"""


def traced_texts_html(rows: pl.DataFrame) -> str:
    """A line per text: its model, its end with the token after it, and a way to the trace.

    Args:
        rows: of the statement `event_texts`.
    """
    lines = []
    for row in rows.to_dicts():
        prompt, token = row["prompt"], row["token"]
        shown = visible(prompt[-_MOST_LETTERS:])
        told = f"layer {row['layer']} of {row['n_layers']}"
        trace = link_html("trace", "trace", css="nt-row", model=row["model"], prompt=prompt)
        lines.append(
            f'<span class="nt-domain">{html.escape(row["model"])}</span>'
            f'<span class="nt-prompt"><bdi>{html.escape(shown)}<b>{html.escape(visible(token))}</b></bdi></span>'
            f"<span>{html.escape(told)} · {trace}</span>"
        )
    return f'{SHEET}{_SHEET}<div class="nt-event">{"".join(lines)}</div>'
