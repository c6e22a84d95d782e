"""The page that asks SQL: an editor with the views beside it; what is typed is judged, and runs in its own process."""

import time

import polars as pl
import streamlit as st

from catalog.advice import command_line
from catalog.store.errors import WarehouseMissing
from catalog.terminal.cells import MISSING
from dashboards.addresses import script_of
from dashboards.charts.any_answer import Fit, answer_chart, fitting
from dashboards.charts.axes import spoken
from dashboards.colours import ACCENT, model_colours
from dashboards.session import desk
from dashboards.widgets import tables
from dashboards.widgets.address import asked, remember
from dashboards.widgets.figures import Data, download_data, show_figure
from dashboards.widgets.html import columns_html, plain
from dashboards.widgets.page import heading, said, told
from dashboards.widgets.pickers import pick_corpus
from queries.errors import NoModels
from queries.names.models import choose_models
from queries.sql.cookbook import Recipe, questions
from queries.sql.limits import Limits
from queries.sql.processes import start_ahead
from queries.sql.run import ask_people
from queries.views.install import all_views, view

FIRST_QUERY = "select model, layer, n_neurons, n_dead, n_tokens_seen\nfrom layer_activity\norder by model, layer"


MOST_ROWS = 10_000
"""More rows are megabytes for the browser, and nobody reads them."""


def show() -> None:
    """The page from top to bottom."""
    heading("SQL")
    # It imports while the page is drawn.
    start_ahead()
    with said():
        _ask(_models())


def _ask(models: dict[str, bool]) -> None:
    """Below the title: the question with its answer, and beside them what there is to ask."""
    editor, beside = st.columns([3, 1], gap="medium")
    with beside:
        _relations()
    with editor:
        _examples(models)
        corpus = _corpus(models)
        query = _editor()
        if query.strip():
            with said():
                _answer(query, models, corpus)


def _models() -> dict[str, bool]:
    """Names of the models, smallest first, and whether each is a plain size."""
    try:
        with desk().warehouse.reader() as connection:
            return {model.name: model.variant is None for model in choose_models(connection)}
    except (WarehouseMissing, NoModels):
        return {}


def _corpus(models: dict[str, bool]) -> str | None:
    """The corpus that views tell of, where there are several."""
    if not models:
        return None
    with desk().warehouse.reader() as connection:
        return pick_corpus(connection, list(models), width=300)


def _examples(models: dict[str, bool]) -> None:
    st.selectbox(
        "Question",
        questions(),
        index=None,
        key="example",
        format_func=lambda question: f"{question.number}. {question.words}",
        placeholder="Questions of the cookbook",
        label_visibility="collapsed",
        on_change=_ask_example,
        args=([name for name, is_size in models.items() if is_size] or list(models),),
    )


def _ask_example(models: list[str]) -> None:
    chosen: Recipe | None = st.session_state["example"]
    if chosen is not None:
        st.session_state["query"] = chosen.about(models)


def _editor() -> str:
    st.session_state.setdefault("query", asked("query") or FIRST_QUERY)
    with st.form("editor", border=False):
        query = st.text_area("Query", key="query", height=200, label_visibility="collapsed")
        st.form_submit_button("Run", type="primary")
    remember(query=query)
    return query


def _relations() -> None:
    name = st.selectbox(
        "View",
        sorted(all_views()),
        index=sorted(all_views()).index("neurons"),
        key="view",
        label_visibility="collapsed",
    )
    st.caption(plain(view(name).grain))
    st.button("Query its first rows", on_click=_ask_for, args=(name,))
    with st.container(height=600, border=False):
        st.html(columns_html(view(name).columns))


def _ask_for(name: str) -> None:
    st.session_state["query"] = f"from {name}\nlimit 100"


def _answer(query: str, models: dict[str, bool], corpus: str | None) -> None:
    start = time.perf_counter()
    # A page never writes, and holds no lease while the query runs: a publisher need not wait for it.
    answered = ask_people(desk().warehouse, query, limits=Limits(rows=MOST_ROWS), corpus=corpus, updates=False)
    seconds = time.perf_counter() - start
    frame = answered.frame
    on = {} if corpus is None else {"corpus": corpus}
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(told(f"{answered.shown} in {seconds:.2f} s{_all_of_it(corpus) if answered.is_truncated else ''}"))
        st.page_link(script_of("sql"), label="Link to this query", query_params={"query": query, **on})
    st.dataframe(
        tables.shown(frame, keep=tuple(frame.columns)),
        column_config=tables.plain_numbers(frame),
        hide_index=True,
        key="answer",
        placeholder=MISSING,
    )
    fit = fitting(frame)
    if fit is None:
        download_data("answer", frame)
    else:
        _draw(Data("answer", query, frame, corpus), fit, list(models))


def _all_of_it(corpus: str | None) -> str:
    on = [] if corpus is None else ["--corpus", corpus]
    return f"; the page shows no more, `{command_line('sql', 'QUERY', *on, '--format', 'csv')}` prints all"


def _draw(data: Data, fit: Fit, models: list[str]) -> None:
    number = fit.numbers[0]
    if len(fit.numbers) > 1:
        number = st.selectbox("Draw", fit.numbers, format_func=spoken, key=f"draw-{'-'.join(fit.numbers)}", width=300)
    shown: pl.DataFrame = data.frame
    show_figure(
        f"{spoken(number).capitalize()} by {spoken(fit.across)}",
        lambda theme: answer_chart(shown, fit, number, accent=ACCENT[theme], models=model_colours(models, theme=theme)),
        f"{shown.height:,} rows of the query above, from the warehouse as it is now.",
        data,
        own_legend=True,
    )


show()
