"""The page of one neuron: what it promotes and suppresses, how often it fires, and on what."""

import random
from functools import partial

import altair as alt
import duckdb
import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from catalog.advice import command_line
from dashboards.addresses import script_of
from dashboards.charts import tokens
from dashboards.charts.positions import position_profile
from dashboards.colours import ACCENT, CONTRAST
from dashboards.parts.switch import try_neuron
from dashboards.widgets import tables
from dashboards.widgets.address import asked, kept_model, kept_neuron, remember
from dashboards.widgets.figures import Data, data_of, show_figure, show_source, statement
from dashboards.widgets.html import places_html, plain, tables_html
from dashboards.widgets.page import Theme, answer, heading, missing, show_command, theme
from dashboards.widgets.pickers import pick_corpus
from queries.ask.statements import filled
from queries.ask.statements import statement as asked_statement
from queries.names.corpora import choose_corpora
from queries.names.models import KnownModel, choose_model, choose_models, models_alike
from queries.names.neurons import NeuronAddress, find_neuron
from queries.neuron.changed import MOST_LISTED
from queries.neuron.page import NeuronPage, neuron_page
from queries.neuron.triggers import MOST_SHOWN, called, rule
from queries.views import contents

MOST_BARS = 20
MOST_TRIGGERS = 5
COUNTERPARTS = ("address", "overlap", "null_99", "is_mutual", "top_tokens")
PROFILE = (
    "Share of the sequences in which it fires; firing tells {nats:.3f} nats about the position, on {n:,} full-length "
    "sequences of {corpus}. Figure 7 of Voita et al. 2023."
)
SCORES = "Scores: value vector times unembedding, the first tokens of the list. Geva et al. 2022, section 3."
PUSHED = (
    "Tokens that its FFN brought to the top for good while it was among the ten largest neurons of the update. "
    "Saturation as in Geva et al. 2022, section 5.1; counting it for neurons is this project's."
)
CHANGED = (
    "What changing all neurons of each adds to the loss, beside random sets of as many neurons. After Geva et al. "
    "2022, section 6.1; random sets: this project."
)
COUNTERPART = (
    "Neurons whose lists of tokens overlap most with its own, at most five of each model. Random: the best overlap "
    "that 99% of random vectors do not exceed; mutual: each is the other's best match. Source: this project."
)
_SIDES = {"promoted": "Promotes", "suppressed": "Suppresses"}
_PROFILE_HEIGHT = 200
_TOLD = ("projections", "ngrams", "positions", "clusters", "events")
"""Jobs whose results the page shows."""


def show(connection: duckdb.DuckDBPyConnection, room: list[tuple[DeltaGenerator, str]]) -> None:
    """The page from top to bottom; what runs the model comes later, into the room that is left for it."""
    address = asked("neuron") or kept_neuron() or _first(connection)
    heading(address)
    corpus = _steps(connection, address)
    neuron = find_neuron(connection, address)
    page = neuron_page(connection, address, corpus=corpus, limit=MOST_BARS)
    st.markdown(plain(page.summary))
    _tokens(page)
    room.append((st.container(), page.address))
    _concepts(page)
    if page.corpus is None:
        missing(connection, "What it fires on is unknown: no text was run through the model yet.", [neuron.model])
    else:
        _activity(connection, page, neuron)
        _triggers(page)
        _places(page)
        _pushed(page)
        _changed(page, neuron)
    _relatives(page)
    _counterparts(connection, page, neuron.model)
    _say_unmeasured(connection, neuron.model)


def _say_unmeasured(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    """Say what else could be measured of the model, and how."""
    (measured,) = (row["jobs"] or [] for row in contents.models_frame(connection).to_dicts() if row["model"] == model)
    absent = [job for job in _TOLD if job not in measured]
    if absent:
        missing(connection, f"Not measured for {model} yet: {', '.join(absent)}.", [model], jobs=absent)


def _first(connection: duckdb.DuckDBPyConnection) -> str:
    names = [model.name for model in choose_models(connection)]
    name = kept if (kept := kept_model()) in names else names[0]
    addresses = data_of(connection, "first_neuron", {"model": name}).frame.get_column("address")
    return str(addresses[0]) if len(addresses) else f"{name}/L0N0"


def _go_to_typed() -> None:
    remember(neuron=st.session_state["address"].strip())


def _steps(connection: duckdb.DuckDBPyConnection, address: str) -> str | None:
    """Links to other neurons, and the corpus; the field stays for a wrong address, so that it can be corrected."""
    st.session_state["address"] = address
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.text_input("Neuron", key="address", on_change=_go_to_typed, label_visibility="collapsed", width=300)
        neuron = find_neuron(connection, address)
        model = choose_model(connection, neuron.model)
        place = neuron.layer * model.d_ffn + neuron.neuron
        anywhere = random.randrange(model.n_layers * model.d_ffn)  # noqa: S311 - not a secret
        for label, target in (("Previous", place - 1), ("Next", place + 1), ("Random", anywhere)):
            key = label.lower()
            st.button(label, key=key, on_click=remember, kwargs={"neuron": address_at(model, target)})
        corpus = pick_corpus(connection, [neuron.model], width=220)
        st.page_link(
            script_of("layer"),
            label=f"Layer {neuron.layer}",
            query_params={
                "model": neuron.model,
                "layer": str(neuron.layer),
                **({} if corpus is None else {"corpus": corpus}),
            },
        )
        return corpus


def address_at(model: KnownModel, place: int) -> str:
    """The neuron at a place of the model, counted over layers; after the last comes the first."""
    layer, neuron = divmod(place % (model.n_layers * model.d_ffn), model.d_ffn)
    return f"{model.name}/L{layer}N{neuron}"


def _tokens(page: NeuronPage) -> None:
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    sql = filled(statement("neuron_tokens"), parameters)
    for column, (side, title) in zip(st.columns(2, gap="medium"), _SIDES.items(), strict=True):
        rows = page.tokens.filter(pl.col("side") == side)
        with column:
            draw = partial(_bars, side, rows.head(MOST_BARS))
            show_figure(title, draw, f"{SCORES}{_cut(rows)}", Data(f"tokens_{side}", sql, rows))


def _cut(rows: pl.DataFrame) -> str:
    """How many of the rows the page has room for."""
    return f" The first {MOST_BARS} of {rows.height:,}." if rows.height > MOST_BARS else ""


def _bars(side: str, rows: pl.DataFrame, theme: Theme) -> alt.LayerChart:
    return tokens.token_bars(rows, (ACCENT if side == "promoted" else CONTRAST)[theme])


def _concepts(page: NeuronPage) -> None:
    if page.annotations.is_empty():
        return
    st.subheader("What people see in it", anchor=False)
    rows = page.annotations.select(pl.col("concept").fill_null("(none)"), "class", "tokens", "annotator")
    tables.show_table(tables.shown(rows), key="annotations")
    st.caption(
        "Concepts in the first 30 tokens it promotes, judged blind among random vectors. Geva et al. 2022, section 4."
    )


def _activity(connection: duckdb.DuckDBPyConnection, page: NeuronPage, neuron: NeuronAddress) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Activity by domain**")
        tables.show_table(page.domains, key="domains")
        st.caption(plain(f"On {page.corpus}. Frequency as in Voita et al. 2023, section 3."))
    with right:
        if page.positions.is_empty():
            st.markdown("**Frequency by position**")
            st.caption("It never fired, or the job positions has not run.")
            return
        _profile(connection, page, neuron)


def _profile(connection: duckdb.DuckDBPyConnection, page: NeuronPage, neuron: NeuronAddress) -> None:
    first = page.positions.row(0, named=True)
    measured = choose_corpora(connection, [neuron.model], page.corpus)[neuron.model]
    place = {"model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    sql = filled(asked_statement("neuron_positions").strip(), {**place, "corpus_id": measured.corpus_id})
    show_figure(
        "Frequency by position",
        lambda theme: position_profile(page.positions, ACCENT[theme]).properties(height=_PROFILE_HEIGHT),
        PROFILE.format(nats=first["mutual_information_corrected"], n=first["n_sequences"], corpus=page.corpus),
        Data("position_profile", sql, page.positions),
        own_legend=True,
    )


def _triggers(page: NeuronPage) -> None:
    triggers = page.triggers
    if triggers.detection.is_empty():
        return
    st.subheader("What triggers it", anchor=False)
    most = min(MOST_TRIGGERS, MOST_SHOWN)
    shown = {
        called(n): frame.head(most).drop("rank", "score", strict=False) for n, frame in triggers.by_length().items()
    }
    st.html(tables_html({**shown, "detector": triggers.verdicts()}))
    listed = f"listed: the first {most} of each length"
    st.caption(plain("; ".join([*triggers.reasons(), " ".join(rule()), listed]) + "."))


def _places(page: NeuronPage) -> None:
    st.subheader("Where it fires most strongly", anchor=False)
    if page.contexts.is_empty():
        st.caption("It did not fire on the tokens seen, or the job contexts has not run.")
        return
    st.html(places_html(page.contexts.to_dicts(), shade=ACCENT[theme()]))
    st.caption(plain(f"Places in {page.corpus} by activation, one per sequence; the token it fired at is marked."))


def _pushed(page: NeuronPage) -> None:
    if page.pushed.is_empty():
        return
    st.subheader("What it brings to the top", anchor=False)
    tables.show_table(tables.shown(page.pushed.drop("token_id")), key="pushed")
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    st.caption(PUSHED)
    show_source(Data("pushed", filled(asked_statement("neuron_pushed").strip(), parameters), page.pushed))


def _changed(page: NeuronPage, neuron: NeuronAddress) -> None:
    if page.changed.together.is_empty():
        return
    st.subheader("Interventions that it was part of", anchor=False)
    rows = page.changed.together
    tables.show_table(rows.head(MOST_LISTED).drop("n_tokens"), key="changed")
    more = f"The first {MOST_LISTED} of {rows.height:,}. " if rows.height > MOST_LISTED else ""
    st.caption(f"{more}{CHANGED}")
    place = {"model": neuron.model, "model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    show_source(Data("changed", filled(asked_statement("neuron_changed").strip(), place), rows))


def _relatives(page: NeuronPage) -> None:
    relatives = page.relatives
    for title, frame, key in (
        ("Other neurons of its cluster", relatives.mates, "mates"),
        ("Nearest value vectors", relatives.neighbours, "neighbours"),
    ):
        if not frame.is_empty():
            st.subheader(title, anchor=False)
            tables.link_to_neurons(frame.head(MOST_BARS), frame.columns, key=key, height=420)
            if frame.height > MOST_BARS:
                st.caption(_cut(frame).strip())


def _counterparts(connection: duckdb.DuckDBPyConnection, page: NeuronPage, model: str) -> None:
    """Its counterparts in other models, the nearest that are none folded away, and a search for similar ones."""
    others = models_alike(connection, model)
    jobs = {row["model"]: row["jobs"] or [] for row in contents.models_frame(connection).to_dicts()}
    # Lists of tokens are compared: where there are none, nothing is found.
    others = [other for other in others if "projections" in jobs[other]]
    if not others or "projections" not in jobs[model]:
        return
    st.subheader("Counterparts in other models", anchor=False)
    relatives = page.relatives
    if relatives.compared.is_empty():
        st.caption("This model was not compared with another yet. To find the best five of every neuron:")
        show_command(command_line("ingest", model, others[-1], "--job", "counterparts"))
    for sentence in relatives.none_above_chance():
        st.markdown(plain(f"{sentence[0].upper()}{sentence[1:]}."))
    if not relatives.counterparts.is_empty():
        tables.link_to_neurons(relatives.counterparts, COUNTERPARTS, key="counterparts", height=420)
        st.caption(COUNTERPART)
    if not relatives.below_chance.is_empty():
        with st.expander("The nearest ones, no more similar than random vectors"):
            tables.link_to_neurons(relatives.below_chance, COUNTERPARTS, key="below_chance", height=420)
            st.caption(f"Not counterparts: their overlap does not exceed that of random vectors. {COUNTERPART}")
    st.page_link(
        script_of("search"),
        label="Search the other models for similar neurons",
        query_params={"like": page.address, "models": ",".join(others)},
    )


def _whole() -> None:
    # The lease ends before the model runs, which takes longer than a publisher should wait.
    room: list[tuple[DeltaGenerator, str]] = []
    answer(partial(show, room=room))
    for place, address in room:
        with place:
            try_neuron(address)


_whole()
