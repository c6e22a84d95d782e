"""The page of one neuron: what it promotes and suppresses, how often it fires, and on what."""

import html
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qsl

import altair as alt
import duckdb
import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from neurothek.catalog.spelling import marked_label
from neurothek.dashboards.charts import tokens
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.live.switch import on_value
from neurothek.dashboards.live.try_neuron import strongest_text, try_neuron
from neurothek.dashboards.parts.muted import Muted, muted_of, pick_muted
from neurothek.dashboards.parts.one_neuron.contexts import (
    show_contexts,
    show_domains,
    show_histogram,
    show_profile,
    show_signs,
    show_triggers,
)
from neurothek.dashboards.parts.one_neuron.token_lists import list_html, places_of_words, show_logits, show_similar
from neurothek.dashboards.parts.search_fields import words_of
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, kept_model, kept_neuron, remember
from neurothek.dashboards.widgets.figures import Data, data_of_query, show_source, title_row
from neurothek.dashboards.widgets.html import SHEET, plain, prose
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import all_models, answer, beside, heading, jobs_of_models, missing, theme
from neurothek.dashboards.widgets.pickers import pick_corpus, usual_model
from neurothek.dashboards.widgets.shelf import show_keeping
from neurothek.queries.ask.statements import filled
from neurothek.queries.ask.statements import statement as asked_statement
from neurothek.queries.names.models import KnownModel, MeasuredCorpus, NeuronAddress, find_neuron, measured_corpora
from neurothek.queries.neuron.foreign import FOREIGN_REMARK, NEURON_FOREIGN, foreign_parts
from neurothek.queries.neuron.headline import headline, labels_of
from neurothek.queries.neuron.page import NEURON_EXPLANATIONS, NEURON_PUSHED, POLES, NeuronPage, neuron_page
from neurothek.queries.neuron.relatives import MOST_LISTED
from neurothek.queries.views.scored_texts import SCORES_OF_WORDS, in_one_line, titled

_FIRST_NEURON = """\
-- The first neuron to show: the one of the smallest model whose scores stand out most, of those that act
-- and whose scores stand out among the tokens that they promote (of a gated model at its pole).
select neurons.address,
from neurons
where neurons.model = $model
order by
    coalesce(neurons.never_active, false),
    coalesce(case when neurons.pole = 'negative' then -neurons.skewness else neurons.skewness end > 0, false) desc,
    neurons.kurtosis desc nulls last,
    neurons.address
limit 1"""

_NEURON_TOKENS = """\
-- What one neuron promotes and suppresses, with scores.
select side, rank, token_id, token, score, z_score, corpus_count,
from neuron_tokens
where model = $model and layer = $layer and neuron = $neuron
order by side, rank"""

MOST_TOKENS = 12
"""Of each side."""

SCORES = "Raw score: value vector times unembedding. Geva et al. 2022, section 3."
PUSHED = (
    "Tokens that its FFN brought to the top for good while it was among the ten largest neurons of the update. "
    "Saturation as in Geva et al. 2022, section 5.1; counting it for neurons is this project's."
)
CHANGED = (
    "Increase of the loss when all neurons of each are changed, compared with random sets of the same size. After "
    "Geva et al. 2022, section 6.1; random sets: this project."
)
WHOSE_LABEL = "Of what was measured, without a language model: nobody has explained it in words yet."
_JOBS = ("projections", "ngrams", "positions", "clusters", "events")
"""Jobs whose results the page shows."""


@dataclass(frozen=True)
class Room:
    """Where a neuron can be tried, and with what."""

    place: DeltaGenerator
    address: str
    text: str | None  # a text that it fires on
    on: float  # what turns it on
    is_silent: bool  # whether it is never active


def show(connection: duckdb.DuckDBPyConnection, room: list[Room]) -> None:
    """The page from top to bottom; what runs the model comes later, into the room that is left for it."""
    address = address_value("neuron") or kept_neuron() or _first(connection)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="title"):
        heading(address)
        neuron = find_neuron(connection, address, all_models())
        remember(neuron=address)
        corpora = cached_answer(connection, measured_corpora, (neuron.model,))
        corpus = _steps(connection, neuron, corpora)
    page = neuron_page(connection, neuron, corpus=corpus, corpora=corpora)
    words = words_of(address_value("word") or "")
    _show_summary(page, words)
    if page.corpus is None:
        missing(connection, "What it fires on is unknown: no text has been run through the model yet.", [neuron.model])
        _of_weights(page, words)
    else:
        # In a narrow window the tokens come first: the texts are long.
        with beside("last-first"):
            left, right = st.columns([3, 2], gap="large")
        with left:
            show_contexts(connection, page, corpus)
            show_signs(page)
            show_domains(page)
        with right:
            _tokens(page, words)
            show_logits(page)
            show_histogram(page, neuron)
    text = strongest_text(page.contexts, page.special_tokens)
    is_silent = bool(page.facts["never_active"]) and neuron.of.has_exact_zeros and not neuron.of.is_signed
    room.append(Room(st.container(), page.address, text, on_value(page.facts), is_silent))
    if page.corpus is not None:
        with beside("second"):
            left, right = st.columns(2, gap="large")
        with left:
            show_profile(page, neuron)
        with right:
            show_triggers(page.triggers)
    show_similar(page, neuron.of, _comparable(neuron.of))
    _concepts(page)
    _explanations(page)
    _foreign(page)
    if page.corpus is not None:
        _pushed(page)
        _changed(page, neuron)
    _say_unmeasured(connection, neuron.model, corpus)


def _of_weights(page: NeuronPage, words: Sequence[str]) -> None:
    """What the weights alone tell, over the whole width: there are no contexts for the tokens to stand beside."""
    if page.tokens.is_empty():
        return
    with beside("first"):
        left, right = st.columns(2, gap="large")
    with left:
        _tokens(page, words)
    with right:
        show_logits(page)


def _show_summary(page: NeuronPage, words: Sequence[str]) -> None:
    """The sentence, what kind of neuron it is, where the words that were searched for stand, and the way back."""
    model = page.facts["model"]
    st.markdown(prose(headline(page, muted_of([model])[model].reasons)))
    _meaning(page)
    labels = "".join(f'<span class="nt-chip">{html.escape(kind)}</span>' for kind in labels_of(page.facts))
    back = link_html("back to the results", "search", **parameters) if (parameters := _question()) else ""
    places = "".join(
        f"<span>{html.escape(line)}</span>" for line in places_of_words(page.tokens, words, is_signed=page.is_signed)
    )
    if labels or back or places:
        st.html(f'{SHEET}<div class="nt-flow nt-told">{labels}{places}{back}</div>')
    with st.expander("In full"):
        st.markdown(prose(page.summary))


def _meaning(page: NeuronPage) -> None:
    """What it means in one line: an explanation with its score beside its controls, else what was measured of it."""
    if (explained := in_one_line(page.explanations)) is not None:
        st.markdown(plain(explained), help=plain(SCORES_OF_WORDS))
    elif page.label is not None:
        st.markdown(prose(f"Label: {marked_label(page.label)}."), help=WHOSE_LABEL)


def _question() -> dict[str, str]:
    """The search that led here."""
    return dict(parse_qsl(address_value("found") or ""))


def _say_unmeasured(connection: duckdb.DuckDBPyConnection, model: str, corpus: str | None) -> None:
    """Say what else could be measured of the model, and how."""
    measured = jobs_of_models()[model]
    absent = [job for job in _JOBS if job not in measured]
    if absent:
        missing(connection, f"Not yet measured for {model}: {', '.join(absent)}.", [model], jobs=absent, corpus=corpus)


def _comparable(model: KnownModel) -> list[str]:
    """The other models whose lists of tokens can be compared with those of this one."""
    jobs = jobs_of_models()
    alike = [other.name for other in all_models() if other.tokenizer_id == model.tokenizer_id and other != model]
    return [name for name in alike if "projections" in jobs[name]] if "projections" in jobs[model.name] else []


def _first(connection: duckdb.DuckDBPyConnection) -> str:
    models = all_models()
    names = {model.name for model in models}
    before = (name for name in (address_value("model"), kept_model()) if name in names)
    name = next(before, usual_model(models))
    addresses = data_of_query(connection, "first_neuron", _FIRST_NEURON, {"model": name}).frame.get_column("address")
    return str(addresses[0]) if len(addresses) else f"{name}/L0N0"


def _steps(
    connection: duckdb.DuckDBPyConnection, neuron: NeuronAddress, corpora: Sequence[MeasuredCorpus]
) -> str | None:
    """Ways to other neurons, and the corpus."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", width="content"):
        place = neuron.layer * neuron.of.d_ffn + neuron.neuron
        anywhere = random.randrange(neuron.of.n_layers * neuron.of.d_ffn)  # noqa: S311 - not a secret
        for label, target in (("Previous", place - 1), ("Next", place + 1), ("Random", anywhere)):
            address = address_at(neuron.of, target)
            st.button(label, key=label.lower(), on_click=remember, kwargs={"neuron": address})
        show_keeping(f"{neuron.model}/L{neuron.layer}N{neuron.neuron}")
        return pick_corpus(connection, [neuron.model], width=220, measured=corpora)


def address_at(model: KnownModel, place: int) -> str:
    """The neuron at a place of the model, counted over layers; after the last comes the first."""
    layer, neuron = divmod(place % (model.n_layers * model.d_ffn), model.d_ffn)
    return f"{model.name}/L{layer}N{neuron}"


def _tokens(page: NeuronPage, words: Sequence[str]) -> None:
    """What it promotes and suppresses, side by side."""
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    sql = filled(_NEURON_TOKENS, parameters)
    muted = pick_muted([parameters["model"]])[parameters["model"]]
    signs = f" {POLES[0].upper()}{POLES[1:]}." if page.is_signed else ""
    for column, (side, title) in zip(st.columns(2, gap="medium"), page.sides.items(), strict=True):
        rows = page.tokens.filter(pl.col("side") == side).sort("rank")
        colour = (ACCENT if side == "promoted" else CONTRAST)[theme()]
        with column:
            with title_row(f"tokens_{side}"):
                # Half of a column has room for no more than where it promotes them.
                name = (title.removeprefix("promotes ") if page.is_signed else title).capitalize()
                st.markdown(f"**{name}**", help=plain(f"{SCORES}{signs}"))
                show_source(Data(f"tokens_{side}", sql, rows), partial(_bars, side, _with_muted(rows, muted)))
            st.html(list_html(rows, words, colour=colour, most=MOST_TOKENS, muted=muted))
            if caption := muted.caption(rows.head(MOST_TOKENS).get_column("token")):
                st.caption(caption)


def _with_muted(rows: pl.DataFrame, muted: Muted) -> pl.DataFrame:
    """The first rows of a side, each with whether its token is muted."""
    first = rows.head(MOST_TOKENS)
    return first.with_columns(
        pl.col("token").is_in(pl.Series(list(muted.reasons), dtype=pl.String).implode()).alias("is_muted")
    )


def _bars(side: str, rows: pl.DataFrame) -> alt.LayerChart:
    """The picture of one side, on paper."""
    return tokens.token_bars(rows, (ACCENT if side == "promoted" else CONTRAST)["light"])


def _concepts(page: NeuronPage) -> None:
    if page.annotations.is_empty():
        return
    st.header("Concepts named by people", anchor=False)
    rows = page.annotations.select(pl.col("concept").fill_null("(none)"), "class", "tokens", "annotator")
    tables.show_table(tables.readable_columns(rows), key="annotations")
    st.caption(
        "Concepts in the first 30 tokens it promotes, judged blind among random vectors. Geva et al. 2022, section 4."
    )


def _explanations(page: NeuronPage) -> None:
    """Each text with its scores beside their controls, never without."""
    if page.explanations.is_empty():
        return
    st.header("Explanations in words", anchor=False)
    for number, (title, scores) in enumerate(titled(page.explanations)):
        st.markdown(plain(f"{title[:1].upper()}{title[1:]}"))
        if not scores.is_empty():
            tables.show_table(scores, key=f"explanations_{number}")
    st.caption(SCORES_OF_WORDS)
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    show_source(Data("explanations", filled(NEURON_EXPLANATIONS.strip(), parameters), page.explanations))


def _foreign(page: NeuronPage) -> None:
    """Other people's words and numbers, labelled as theirs."""
    if page.foreign.is_empty():
        return
    st.header("In other people's catalogs", anchor=False)
    for number, (title, numbers) in enumerate(foreign_parts(page.foreign)):
        st.markdown(plain(f"{title[:1].upper()}{title[1:]}"))
        tables.show_table(tables.readable_columns(numbers), key=f"foreign_{number}")
    st.caption(f"{FOREIGN_REMARK[:1].upper()}{FOREIGN_REMARK[1:]}.")
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    show_source(Data("foreign", filled(NEURON_FOREIGN.strip(), parameters), page.foreign))


def _pushed(page: NeuronPage) -> None:
    if page.pushed.is_empty():
        return
    st.header("Tokens it brings to the top", anchor=False)
    tables.show_table(tables.readable_columns(page.pushed.drop("token_id")), key="pushed")
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    st.caption(PUSHED)
    show_source(Data("pushed", filled(NEURON_PUSHED.strip(), parameters), page.pushed))


def _changed(page: NeuronPage, neuron: NeuronAddress) -> None:
    if page.changed.together.is_empty():
        return
    st.header("Interventions that included it", anchor=False)
    rows = page.changed.together
    tables.show_table(rows.head(MOST_LISTED).drop("n_tokens"), key="changed")
    more = f"The first {MOST_LISTED} of {rows.height:,}. " if rows.height > MOST_LISTED else ""
    st.caption(f"{more}{CHANGED}")
    place = {"model": neuron.model, "model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    show_source(Data("changed", filled(asked_statement("neuron_changed").strip(), place), rows))


def _whole() -> None:
    # The lease ends before the model runs, which takes longer than a publisher should wait.
    room: list[Room] = []
    answer(partial(show, room=room))
    for one in room:
        with one.place:
            try_neuron(one.address, one.text, on=one.on, is_silent=one.is_silent)


_whole()
