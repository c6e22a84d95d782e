"""Events on a page: which neurons pushed a token, how ten of them score it, by layer, and texts that were traced."""

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import quoted, visible
from neurothek.catalog.terminal.cells import percent
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.charts.predictions import events
from neurothek.dashboards.parts.explore.promoted import with_promoted
from neurothek.dashboards.parts.muted import Muted, muted_at
from neurothek.dashboards.parts.token_cards import STYLE, card_html, token_html
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.columns import CENTRED
from neurothek.dashboards.widgets.figures import Data, data_of_models, data_of_query, show_figure, show_source
from neurothek.dashboards.widgets.html import SHEET, legend_html, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.reading import Reader, Reading
from neurothek.queries.names.models import KnownModel

_EVENT_SCORES = """\
-- What ten neurons do to the token that an event is about, for some models.
select *,
from event_scores
where list_contains($models::varchar[], model)
order by model, event, kind"""

_TOP_CANDIDATE_SCORES = """\
-- What ten neurons do to the token at the top before their FFN, by layer of one model and kind of sub-update.
select *,
from top_candidate_scores
where model = $model
order by kind, layer"""

_EXTREME_SOURCES = """\
-- How many neurons and clusters the extreme updates of some models come from.
select
    model,
    sum(n_firing_neurons) as n_neurons,
    count(*) filter (n_extreme > 0) as n_clusters,
from extreme_clusters
where list_contains($models::varchar[], model)
group by model
order by model"""

GEVA = "Geva et al. 2022"
SCORES_SOURCE = (
    f"After Table 4 of {GEVA}, whose scores are raw: these are in the table below. Subtracting the mean over "
    "all tokens, which changes no prediction, and scoring through the final norm, in units of the logit, are this "
    "project's."
)
LAYERS_SOURCE = (
    f"After Figure 3 of {GEVA}, whose scores are raw (the figure of `reproduce` is): there the mean is not "
    "negative until the last layers, where scores spread and strongly negative minima appear. Subtracting the mean "
    "over all tokens, and random active sub-updates, are this project's."
)
EXTREMES_SOURCE = f"Section 5.2 of {GEVA}, who sort clusters by reading them; the bounds are this project's."
_MOST_COLUMNS = 4
_EXTREMES_HEIGHT = 130


def show_scores(reader: Reading, models: Sequence[str], subject: str) -> None:
    """What ten neurons do to the token that settles, and to the one that is pushed down.

    Args:
        reader: what the page reads.
        models: names, in the order in which they are shown.
        subject: the one of them that the sentence is about.
    """
    data = data_of_query(reader, "event_scores", _EVENT_SCORES, {"models": list(models)})
    if data.frame.is_empty():
        return
    st.header("Effect of ten neurons on the token of an event", anchor=False)
    st.markdown(plain(scores_sentence(data.frame, subject)))
    frame, active = without_twins(data.frame)
    st.html(legend_html(_kinds_of(frame)))
    domain = events.bounds(frame, "median_min_centred", "median_max_centred")
    for model, rows in _in_columns(models, frame):
        caption = " ".join(_events_counted(rows))
        _show(model, partial(events.score_ranges, rows, domain), caption, data, SCORES_SOURCE)
    st.caption(
        "Centred scores, medians over events but those at position 0. Dots: the mean of ten neurons. Lines: from the "
        f"smallest to the largest of ten.{_all_active(active)}",
        help=CENTRED,
    )
    with st.expander("All scores"):
        named = pl.col("kind").replace(events.KIND_NAMES)
        tables.show_table(frame.drop("corpus").with_columns(named), key="event_scores")
        show_source(data)


def without_twins(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The rows without those of random active neurons that say what random ones say, and the models they were of.

    Where no activation is exactly 0, as in gated models, every neuron is active.

    Args:
        rows: with model, kind, and median scores; one a model, kind, and event or layer.
    """
    places = [name for name in ("model", "event", "layer") if name in rows.columns]
    numbers = [name for name in rows.columns if name.startswith("median_")]
    active, random = (rows.filter(kind=kind).sort(places) for kind in ("random_active", "random"))
    pairs = active.join(random, on=places, how="left", suffix="_random")
    is_alike = pl.all_horizontal(
        ((pl.col(name) - pl.col(f"{name}_random")).abs() <= _ALIKE * pl.col(name).abs()).fill_null(value=False)
        for name in numbers
    )
    by_model = pairs.group_by("model", maintain_order=True).agg(is_alike.all().alias("is_alike"))
    alike = by_model.filter("is_alike").get_column("model").to_list()
    return rows.filter(~((pl.col("kind") == "random_active") & pl.col("model").is_in(alike))), alike


_ALIKE = 1e-6
"""Relative: the same numbers, which were added up in another order."""


def _kinds_of(rows: pl.DataFrame) -> dict[str, str]:
    """Colours of the kinds of neurons that rows have."""
    kinds = {name for kind, name in events.KIND_NAMES.items() if kind in set(rows.get_column("kind"))}
    return {name: colour for name, colour in events.UPDATE_COLOURS.items() if name in kinds}


def _all_active(models: Sequence[str]) -> str:
    """A sentence on models whose random neurons are active ones; nothing without any."""
    return f" No activation of {_together(models)} is exactly 0: random neurons are active ones." if models else ""


def _events_counted(rows: pl.DataFrame) -> Iterator[str]:
    """How many events of each kind the medians are of."""
    spoken = {"saturation": "Settles", "elimination": "Is pushed down"}
    for row in rows.unique("event").sort("event", descending=True).to_dicts():
        yield f"{spoken[row['event']]}: n = {row['n_events'] - (row['n_first_position'] or 0):,}."


def scores_sentence(rows: pl.DataFrame, model: str) -> str:
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
        # What rounds to 0 has no sign.
        return "an unknown amount" if number is None else f"{number:+.2f}" if round(number, 2) else "0.00"

    return (
        f"In {model}, in the median event, a dominant neuron changes the centred score of the token that settles by "
        f"{mean('saturation', 'dominant')}, and that of the one that is pushed down by "
        f"{mean('elimination', 'dominant')}; "
        f"a random neuron by {mean('saturation', 'random')} and {mean('elimination', 'random')}."
    )


def show_layers(reader: Reading, models: Sequence[str], subject: str) -> None:
    """What ten neurons do to the token at the top before their layer, and how much of the update they hold.

    Args:
        reader: what the page reads.
        models: names, in the order in which they are shown.
        subject: the one of them that the sentence is about.
    """
    name, query = "top_candidate_scores", _TOP_CANDIDATE_SCORES
    frames = [data_of_query(reader, name, query, {"model": model}) for model in models]
    data_of_model = {model: data for model, data in zip(models, frames, strict=True) if not data.frame.is_empty()}
    if not data_of_model:
        return
    st.header("By layer, for the token at the top", anchor=False)
    shares = data_of_models(reader, "dominant_share", models, "layer")
    st.markdown(plain(shares_sentence(shares.frame, subject)))
    link = link_html("Compare sizes", "compare", models=",".join(models), corpus=reader.corpus or "")
    st.html(f"<div>The curves by depth are on {link}.</div>")
    whole, active = without_twins(pl.concat([data.frame for data in data_of_model.values()]))
    domain = events.bounds(whole, "median_min_centred", "median_max_centred")
    for model, rows in _in_columns(list(data_of_model), whole):
        caption = f"Up to {max(rows.get_column('n_examples').to_list()):,} examples a layer."
        _show(model, partial(events.candidate_bands, rows, domain), caption, data_of_model[model], LAYERS_SOURCE)
    st.caption(
        "Centred scores of the token at the top before the FFN, medians over examples but those at position 0. Bands: "
        f"from the smallest to the largest of ten neurons. Lines: their mean.{_all_active(active)}",
        help=CENTRED,
    )


def shares_sentence(rows: pl.DataFrame, model: str) -> str:
    """How much of an update ten dominant neurons of a model hold, beside ten random ones, in a sentence.

    Args:
        rows: of the view `dominant_share`.
        model: which one.
    """
    of_model = rows.filter(model=model)
    dominant = _mean(of_model, "dominant_share", "n_examples")
    random = _mean(of_model, "random_share", "n_random_examples")
    if dominant is None:
        return ""
    others = "" if random is None else f"; ten random others hold {random:.1%}"
    return f"In {model}, the ten dominant neurons hold {dominant:.0%} of a layer's update on average{others}."


def show_extremes(reader: Reading, models: Sequence[str]) -> None:
    """Which clusters the extreme updates come from."""
    data = data_of_models(reader, "extreme_updates", models, "kind")
    if data.frame.is_empty():
        return
    st.header("Sources of extreme updates", anchor=False)
    st.html(legend_html(events.EXTREME_COLOURS))
    having = [model for model in models if model in set(data.frame.get_column("model"))]
    behind = {
        row["model"]: row
        for row in data_of_query(reader, "extreme_sources", _EXTREME_SOURCES, {"models": having}).frame.to_dicts()
    }
    for model, rows in _in_columns(having, data.frame):
        caption, is_massive = extremes_caption(rows, behind[model])
        if is_massive:
            st.markdown(f"**{plain(model)}**")
            st.caption(plain(caption))
        else:
            _show(model, partial(_extremes, rows), caption, data, EXTREMES_SOURCE)
    st.caption(
        "Clusters with an extreme update, by kind, beside their share of all value vectors. Specific: top tokens at "
        "most as frequent as those of the model's average neuron."
    )


def extremes_caption(rows: pl.DataFrame, source: Mapping[str, Any]) -> tuple[str, bool]:
    """How many neurons a model's extreme updates come from, and whether most are at the first token of a text.

    Args:
        rows: the model's rows of the view `extreme_updates`.
        source: its row of the statement `extreme_sources`.
    """
    n, n_first = (int(rows.get_column(name).sum()) for name in ("n_extreme", "n_first_position"))
    n_neurons, n_clusters = int(source["n_neurons"] or 0), int(source["n_clusters"] or 0)
    counts = f"{n:,} extreme updates of {n_neurons:,} neurons in {n_clusters:,} clusters; {n_first:,} at position 0"
    if 2 * n_first > n:
        return f"{counts}: a few massive activations of first tokens, which say nothing of kinds of clusters.", True
    return f"{counts}.", False


def _extremes(rows: pl.DataFrame) -> Drawing:
    return events.extreme_kinds(rows).properties(height=_EXTREMES_HEIGHT)


def _in_columns(models: Sequence[str], frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each model with its rows, in a column of its own."""
    n_columns = min(_MOST_COLUMNS, len(models))
    for start in range(0, len(models), n_columns):
        for column, model in zip(st.columns(n_columns, gap="medium"), models[start : start + n_columns], strict=False):
            with column:
                yield model, frame.filter(model=model)


def _show(model: str, draw: Callable[[], Drawing], caption: str, data: Data, source: str) -> None:
    of_model = data.showing(f"{data.name}_{model}", data.frame.filter(model=model))
    show_figure(model, lambda _: draw(), caption, of_model, source=source)


def _mean(rows: pl.DataFrame, share: str, weight: str) -> float | None:
    """A share, averaged over examples; None where there are none."""
    weighted = rows.filter(pl.col(share).is_not_null() & (pl.col(weight) > 0))
    total = int(weighted.get_column(weight).sum())
    return float((weighted[share] * weighted[weight]).sum() / total) if total else None


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
        end = visible(prompt[-_MOST_LETTERS:])
        place = f"layer {row['layer']} of {row['n_layers']}"
        trace = link_html("trace", "trace", css="nt-row", model=row["model"], prompt=prompt)
        lines.append(
            f'<span class="nt-domain">{html.escape(row["model"])}</span>'
            f'<span class="nt-prompt"><bdi>{html.escape(end)}<b>{html.escape(visible(token))}</b></bdi></span>'
            f"<span>{html.escape(place)} · {trace}</span>"
        )
    return f'{SHEET}{_SHEET}<div class="nt-event">{"".join(lines)}</div>'


MOST_ROWS, _MOST_TOKENS = 8, 4

_PUSHERS_SHEET = """
<style>
.nt-pushers { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0.8rem; }
.nt-pushers .nt-card header b { font-size: 0.95rem; }
.nt-push { display: grid; grid-template-columns: 5.2rem minmax(4.2rem, 1fr) max-content minmax(8rem, 1.5fr);
  gap: 0.7rem; align-items: center;
  padding: 0.16rem 0; border-top: 1px solid #8a8a8a22; font-size: 0.86rem; }
.nt-push .nt-bar { position: relative; }
.nt-push i { display: block; height: 0.55rem; border-radius: 0.15rem; }
.nt-push .nt-base { position: absolute; top: -0.2rem; width: 2px; height: 0.95rem; background: currentcolor; }
.nt-push .nt-share { font-variant-numeric: tabular-nums; text-align: right; }
@media (max-width: 1000px) { .nt-pushers { grid-template-columns: 1fr; } }
.nt-push .nt-promoted { display: flex; flex-wrap: wrap; gap: 0 0.25rem; height: 1.6rem; min-width: 0;
  overflow: hidden; }
</style>
"""


LEAST_PUSHES = 3
"""Of a neuron that pushes a word less often nothing is said: its only dominance may be that very example."""


def pushers_sentence(rows: pl.DataFrame, models: Sequence[str], word: str) -> str:
    """How often FFNs bring a word to the top, and which neuron exceeds its base rate most in pushing it.

    Args:
        rows: of the statement `pushers`, one at least, in its order.
        models: names, in the order in which they are told.
        word: what was asked for.
    """
    counts = saturations(rows)
    (model, n), *others = [(model, counts[model]) for model in models if model in counts]
    examples = _together([f"{n:,} example{'s' * (n != 1)} of {model}", *(f"{n:,} of {model}" for model, n in others)])
    brings = f"An FFN brings {quoted(word)} to the top for good in {examples}."
    best = rows.row(0, named=True)
    if best["push_gain"] <= 0:
        return f"{brings} No neuron pushes it more often than its base rate."
    if best["n_pushes"] < LEAST_PUSHES:
        return f"{brings} No neuron pushes it {LEAST_PUSHES} times."
    return (
        f"{brings} {best['address']} exceeds its base rate most: it pushes the token in {best['n_pushes']:,} of "
        f"{best['n_saturations']:,} ({percent(best['push_share'])}), and is dominant in {percent(best['base_share'])} "
        f"of all {best['n_examples']:,} examples of its model."
    )


def saturations(rows: pl.DataFrame) -> dict[str, int]:
    """In how many examples of each model an FFN brought a token of the word to the top, in the order of the rows."""
    tokens = rows.unique(["model", "token"], maintain_order=True)
    counted = tokens.group_by("model", maintain_order=True).agg(pl.col("n_saturations").sum())
    return dict(counted.iter_rows())


def shown_pushers(reader: Reader, models: Sequence[KnownModel], rows: pl.DataFrame) -> pl.DataFrame:
    """The first rows of each model, with what their neurons promote.

    Args:
        reader: what the page reads.
        models: those of the rows, or more.
        rows: of the statement `pushers`.
    """
    parts = [
        with_promoted(reader, model, of_model.head(MOST_ROWS))
        for model in models
        if not (of_model := rows.filter(model=model.name)).is_empty()
    ]
    return pl.concat(parts)


def pushers_html(
    rows: pl.DataFrame,
    examples: Mapping[str, int],
    colours: Mapping[str, str],
    parameters: Mapping[str, str],
    muted: Mapping[str, Muted] | None = None,
) -> str:
    """A card per model: its neurons that push the word, each with how often, its base rate and what it writes.

    Args:
        rows: as `shown_pushers` yields them.
        examples: in how many an FFN of each model brought the word to the top, in the order of the cards.
        colours: of the bars, by model.
        parameters: what each neuron's page is asked for besides its address: the word to mark, the corpus.
        muted: model -> its tokens to show pale; None: none.
    """
    cards = []
    for model, n in examples.items():
        of_model = rows.filter(model=model)
        head = f"<b>{html.escape(model)}</b>"
        if of_model.is_empty():
            cards.append(card_html(head, "", "None of its FFNs brought the word to the top for good.", ""))
            continue
        body = "".join(
            _row(row, colours[model], parameters, muted_at(row["address"], muted)) for row in of_model.to_dicts()
        )
        cards.append(card_html(head, f"{n:,} example{'s' * (n != 1)}", "", body))
    return f'{STYLE}{_PUSHERS_SHEET}<div class="nt-pushers">{"".join(cards)}</div>'


def _row(row: Mapping[str, Any], colour: str, parameters: Mapping[str, str], muted: Muted) -> str:
    share, base = row["push_share"], row["base_share"]
    title = (
        f"{row['n_pushes']:,} of {row['n_saturations']:,} examples of {visible(row['token'])}; dominant in "
        f"{row['times_dominant']:,} of all {row['n_examples']:,}; {_scores(row)}, mean activation "
        f"{row['mean_coefficient']:.3f}"
    )
    # At an activation below 0 a neuron promotes the bottom of its list.
    written = row["bottom_tokens" if row["mean_coefficient"] < 0 else "top_tokens"]
    address = row["address"]
    link = link_html(address.rpartition("/")[2], "neuron", title=title, css="nt-row", neuron=address, **parameters)
    tokens = " ".join(token_html(token, muted=muted) for token in (written or ())[:_MOST_TOKENS])
    return (
        f'<div class="nt-push" title="{html.escape(title)}"><span>{link}</span>'
        f'<span class="nt-bar"><i style="width: {100 * share:.0f}%; background: {colour}"></i>'
        f'<span class="nt-base" style="left: {100 * base:.0f}%"></span></span>'
        f'<span class="nt-share">{row["n_pushes"]:,} of {row["n_saturations"]:,} '
        f'<span class="nt-muted">({row["times_dominant"]:,} of {row["n_examples"]:,})</span></span>'
        f'<span class="nt-promoted">{tokens}</span></div>'
    )


def _scores(row: Mapping[str, Any]) -> str:
    """The mean score, less what the neuron adds to every token, where that is known; and the raw one."""
    raw = f"mean raw score {row['mean_score']:.3f}"
    return raw if row["mean_centred"] is None else f"mean centred score {row['mean_centred']:.3f}, {raw}"


def _together(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
