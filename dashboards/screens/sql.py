"""The page that asks SQL: an editor with the views beside it; what is typed is judged, and runs in its own process."""

import time

import polars as pl
import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotMeasured, Unavailable
from neurothek.catalog.terminal.cells import MISSING
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.charts.any_answer import Fit, answer_chart, fitting
from neurothek.dashboards.charts.axes import spoken
from neurothek.dashboards.colours import ACCENT, model_colours
from neurothek.dashboards.console.cards import show_recipes
from neurothek.dashboards.console.editor import put_query, show_editor
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import asked_number, own_key, remember
from neurothek.dashboards.widgets.figures import Data, show_figure, show_files, title_row
from neurothek.dashboards.widgets.html import columns_html, plain
from neurothek.dashboards.widgets.page import as_sentence, heading, show_errors
from neurothek.dashboards.widgets.pickers import pick_corpus
from neurothek.queries.names.models import choose_models, is_address, sizes_of
from neurothek.queries.sql.processes import Limits, start_ahead
from neurothek.queries.sql.run import ask_people
from neurothek.queries.views.install import all_views, view

FIRST_QUERY = (
    "select model, layer, n_dead, median_effective_frequency, n_negligible, n_neurons, n_tokens_seen\n"
    "from layer_activity\norder by model, layer"
)

_BESIDE_HEIGHT = 760
"""Pixels of what stands beside the editor."""

MOST_ROWS = 10_000
"""More rows are megabytes for the browser, and nobody reads them."""

PAGE_ROWS = 1_000
"""Rows that are shown at a time."""


def show() -> None:
    """The page from top to bottom."""
    heading("SQL")
    # It imports while the page is drawn.
    start_ahead()
    with show_errors():
        _ask(_models())


def _ask(models: dict[str, bool]) -> None:
    """Below the title: the question with its answer, and what there is to ask beside them, in a narrow window below."""
    with st.container(key="beside-questions"):
        editor, beside = st.columns([3, 1], gap="medium")
    with beside:
        _beside(models)
    with editor:
        corpus = _corpus(models)
        query = show_editor(FIRST_QUERY)
        if query.strip():
            with show_errors():
                _answer(query, models, corpus)


def _beside(models: dict[str, bool]) -> None:
    """Questions to start from, and the views with their columns."""
    questions, views = st.tabs(["Cookbook", "Views"])
    with questions, st.container(height=_BESIDE_HEIGHT, border=False):
        show_recipes([name for name, is_size in models.items() if is_size] or list(models))
    with views:
        _relations()


def _models() -> dict[str, bool]:
    """Names of the models, smallest first, and whether each is a plain size."""
    try:
        with backend().warehouse.reader() as connection:
            models = choose_models(connection)
            sizes = sizes_of(models)
            return {model.name: model in sizes for model in models}
    except NotMeasured:
        return {}
    except Unavailable as error:
        if error.what != "warehouse":
            raise
        return {}


def _corpus(models: dict[str, bool]) -> str | None:
    """The corpus that views tell of, where there are several."""
    if not models:
        return None
    with backend().warehouse.reader() as connection:
        return pick_corpus(connection, list(models), width=300)


def _relations() -> None:
    name = st.selectbox(
        "View",
        sorted(all_views()),
        index=sorted(all_views()).index("neurons"),
        key="view",
        label_visibility="collapsed",
    )
    st.caption(plain(view(name).grain))
    st.button("Query its first rows", on_click=put_query, args=(f"from {name}\nlimit 100",))
    with st.container(height=_BESIDE_HEIGHT - 120, border=False):
        st.html(columns_html(view(name).columns))


def _answer(query: str, models: dict[str, bool], corpus: str | None) -> None:
    start = time.perf_counter()
    # A page never writes, and holds no lease while the query runs: a publisher need not wait for it.
    answered = ask_people(backend().warehouse, query, limits=Limits(rows=MOST_ROWS), corpus=corpus, updates=False)
    seconds = time.perf_counter() - start
    frame = answered.frame
    with title_row("answer"):
        st.caption(
            as_sentence(f"{answered.extent} in {seconds:.2f} s{_all_of_it(corpus) if answered.is_truncated else ''}")
        )
        show_files("answer", frame)
    _rows(_page_of(frame))
    fit = fitting(frame)
    if fit is not None:
        _draw(Data("answer_chart", query, frame, corpus), fit, list(models))


def _page_of(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that are shown at a time: a browser takes seconds for all of a long answer."""
    n_pages = -(-frame.height // PAGE_ROWS)
    if n_pages <= 1:
        return frame
    asked_page = asked_number("page", least=1, most=n_pages) or 1
    page = st.number_input(
        "Page", 1, n_pages, asked_page, key=own_key(f"page-{n_pages}"), width=160, help=f"{PAGE_ROWS:,} rows at a time."
    )
    remember(page=str(page) if page > 1 else None)
    first = PAGE_ROWS * (page - 1)
    st.caption(f"Rows {first + 1:,} to {min(first + PAGE_ROWS, frame.height):,} of {frame.height:,}.")
    return frame.slice(first, PAGE_ROWS)


def _rows(frame: pl.DataFrame) -> None:
    """The table; where its rows name neurons, a click on one opens it."""
    table, numbers = (
        tables.readable_columns(frame, keep=tuple(frame.columns), letters=None),
        tables.plain_numbers(frame),
    )
    if frame.schema.get("address") != pl.String:
        st.dataframe(table, column_config=numbers, hide_index=True, key="answer", placeholder=MISSING)
        return
    addresses = frame.get_column("address").fill_null("")
    if all(is_address(address) for address in addresses if address):
        numbers["address"] = st.column_config.LinkColumn()
    picked = st.dataframe(
        table,
        column_config=numbers,
        hide_index=True,
        key=tables.table_key("answer", addresses),
        placeholder=MISSING,
        on_select="rerun",
        selection_mode="single-cell",
    )
    st.caption("Click a row to open its neuron.")
    place = tables.chosen_row(picked.selection)
    if place is not None and place < frame.height and is_address(addresses[place]):
        query_params = {**st.query_params.to_dict(), "neuron": addresses[place]}
        st.switch_page(script_of("neuron"), query_params=query_params)


def _all_of_it(corpus: str | None) -> str:
    on = [] if corpus is None else ["--corpus", corpus]
    return f"; the page shows no more; `{command_line('sql', 'QUERY', *on, '--format', 'csv')}` prints all"


def _draw(data: Data, fit: Fit, models: list[str]) -> None:
    number = fit.numbers[0]
    if len(fit.numbers) > 1:
        number = st.selectbox("Draw", fit.numbers, format_func=spoken, key=f"draw-{'-'.join(fit.numbers)}", width=300)
    rows: pl.DataFrame = data.frame
    show_figure(
        f"{spoken(number).capitalize()} by {spoken(fit.across)}",
        lambda theme: answer_chart(rows, fit, number, accent=ACCENT[theme], models=model_colours(models, theme=theme)),
        f"{rows.height:,} rows of the query above, from the warehouse as it is now.",
        data,
        own_legend=True,
    )


show()
