"""The page that traces a prompt through a model: what each layer changes, and which neurons matter."""

import streamlit as st

from dashboards.parts.switch import try_traced
from dashboards.session import desk
from dashboards.widgets import tables
from dashboards.widgets.address import asked, asked_number, remember
from dashboards.widgets.figures import download_data
from dashboards.widgets.html import plain, table_html
from dashboards.widgets.page import heading, said
from dashboards.widgets.pickers import pick_corpus, pick_model
from queries.trace.trace import Lens, TracePage

NEURONS = (
    "address",
    "layer",
    "rank",
    "coefficient",
    "share",
    "score_final",
    "score_candidate",
    "top_tokens",
    "frequency",
    "n_tokens_seen",
)


def show() -> None:
    """The page from top to bottom."""
    heading("Trace")
    with said():
        # The lease ends before the model runs, which takes longer than a publisher should wait.
        with desk().warehouse.reader() as connection:
            model = pick_model(connection).name
            corpus = pick_corpus(connection, [model], width=300)
        prompt, position = _prompt()
        lens = _lens()
        if not prompt:
            st.caption(
                "Runs the model on the prompt, on this machine: shows what it would predict after each layer, where "
                "its prediction settles, and which neurons hold most of each update. Geva et al. 2022, section 5."
            )
            return
        with st.spinner(f"running {model}"):
            page = desk().trace(model, prompt, position=position, lens=lens, corpus=corpus)
        _layers(page)
        _states(page)
        _neurons(page)
        try_traced(page, prompt)


def _prompt() -> tuple[str, int | None]:
    wide, narrow = st.columns([5, 1], vertical_alignment="bottom")
    prompt = wide.text_input("Prompt", asked("prompt") or "", key="prompt", placeholder="The capital of France is")
    position = narrow.number_input(
        "Position",
        min_value=0,
        value=asked_number("position"),
        step=1,
        key="position",
        placeholder="last",
        help="Position of the token, from 0, counting a prepended BOS; the last one unless given.",
    )
    remember(prompt=prompt or None, position=None if position is None else str(position))
    return prompt, position


def _lens() -> Lens:
    through = st.toggle(
        "Through linear shortcuts",
        asked("lens") == "mat",
        help="What each state predicts through its map to the last one; needs the job shortcuts. Din et al. 2023.",
    )
    remember(lens="mat" if through else None)
    return "mat" if through else "id"


def _layers(page: TracePage) -> None:
    st.markdown(plain(page.summary))
    (layers, *_) = page.sections()
    st.subheader("Layers", anchor=False)
    st.html(table_html(layers.frame, tokens=("tokens before", "tokens after")))
    st.caption(plain(_sentence(layers.remark)))
    download_data("trace_layers", page.layers)


def _states(page: TracePage) -> None:
    for section in page.sections():
        if section.title == "states":
            st.subheader("States", anchor=False)
            st.html(table_html(section.frame, tokens=("tokens by id", "tokens by mat")))
            st.caption(plain(_sentence(section.remark)))
            download_data("trace_states", page.states)


def _sentence(remark: str) -> str:
    return f"{remark[:1].upper()}{remark[1:]}."


def _neurons(page: TracePage) -> None:
    st.subheader("Dominant neurons", anchor=False)
    tables.link_to_neurons(page.neurons, NEURONS, key="dominant", height=420)
    download_data("trace_neurons", page.neurons)


show()
