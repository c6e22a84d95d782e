"""A figure on a page: the chart, its source, the SQL behind it and its data to download."""

import io
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import altair as alt
import duckdb
import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from neurothek.catalog.advice import command_line
from neurothek.catalog.spelling import visible
from neurothek.catalog.terminal.outputs import encode_rows
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.charts.pictures import Drawing, drawn
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.links import here
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import Theme, theme
from neurothek.dashboards.widgets.reading import Reader, Reading
from neurothek.queries.ask import statements
from neurothek.queries.ask.one_query import run_query, with_parts
from neurothek.queries.ask.statements import filled
from neurothek.queries.names.models import choose_corpora
from neurothek.queries.views.neuron_facts import of_models

Draw = Callable[[Theme], Drawing]
"""A chart in the colours of a theme: the page's own, or of paper."""

MENU = "⋯"
"""Name of the menu of a figure or a table."""

ANCHOR = "at-"
"""What the keys of places begin with that an address can name."""

_PAPER_WIDTH = 640
_PADDING = {"left": 0, "top": 0, "right": 8, "bottom": 20}
"""Pixels about a chart: Streamlit's own, and at the right room for the half of the last label of an axis."""

_PARTS = {
    "layer_neurons": ("neurons_shown", "one layer is asked for"),
    "model_neurons": ("neurons_shown", "a model is asked for"),
    "layer_neurons_by_corpus": ("neurons_by_corpus", "one layer is asked for"),
    "model_neurons_by_corpus": ("neurons_by_corpus", "a model is asked for"),
}
"""Statements that are most of one file: its name, and the condition of their parts."""


@dataclass(frozen=True)
class Data:
    """Rows of one statement, with the text that yields them again."""

    name: str  # name of the statement
    sql: str  # the statement with its values filled in, to be run in the console
    frame: pl.DataFrame  # its rows
    corpus: str | None = None  # the corpus that views have to tell of for it; None: each model's shown one

    def showing(self, name: str, frame: pl.DataFrame | None = None) -> "Data":
        """The same statement under the name of what is drawn of it, and with the rows that are."""
        return replace(self, name=name, frame=self.frame if frame is None else frame)

    @property
    def models(self) -> set[str]:
        """The models that the rows are about."""
        return set(self.frame.get_column("model"))

    @property
    def shown_sql(self) -> str:
        """The statement for people: a comment says which corpus is to be asked for."""
        if self.corpus is None:
            return self.sql
        return f"-- To run it on this corpus: {command_line('sql', '--corpus', visible(self.corpus))}\n{self.sql}"


def data_of(reader: Reader, name: str, parameters: Mapping[str, Any]) -> Data:
    """Run the statement of the file NAME with values bound to its parameters."""
    return data_of_query(reader, name, statement(name), parameters)


def data_of_query(reader: Reader, name: str, text: str, parameters: Mapping[str, Any]) -> Data:
    """Run a query with values bound to its parameters, for data called NAME."""
    corpus = reader.corpus if isinstance(reader, Reading) else None
    return Data(name, filled(text, parameters), cached_answer(reader, run_query, text, dict(parameters)), corpus)


def data_of_models(reader: Reader, view: str, models: Sequence[str], *then: str, where: str = "") -> Data:
    """A view's rows of some models, smallest first, and `then` in the order of further expressions."""
    text = of_models(view, ("size", "model", *then), where=where)
    return data_of_query(reader, view, text, {"models": list(models)})


def data_on(
    connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any], corpus: str | None
) -> Data:
    """Run `NAME.sql` about a model on its shown corpus, or `NAME_by_corpus.sql` where another one was asked for.

    Args:
        connection: the page's lease.
        name: name of the statement.
        parameters: values of its parameters, `model` among them.
        corpus: name of a corpus that the model was measured on; None: the shown one.
    """
    if corpus is None:
        return data_of(connection, name, parameters)
    model = parameters["model"]
    corpus_id = choose_corpora(connection, [model], corpus)[model].corpus_id
    return data_of(connection, f"{name}_by_corpus", {**parameters, "corpus_id": corpus_id})


@cache
def statement(name: str) -> str:
    """Text of the statement NAME of these pages, or of those parts of another that NAME stands for."""
    file, *parts = _PARTS.get(name, (name,))
    return with_parts(statements.statement(file, "dashboards"), parts).strip()


def show_figure(
    title: str,
    draw: Draw,
    caption: str,
    data: Data,
    *,
    source: str = "",
    own_legend: bool = False,
    selects: bool = False,
) -> Mapping[str, Any]:
    """Draw a chart with its caption, and a menu with the SQL behind it, its picture, its data and its link.

    Args:
        title: what it shows, in a few words.
        draw: makes the drawing in the colours of a theme.
        caption: what one sees, in a line; shown as plain text.
        data: what was drawn.
        source: whose figure or definition it is; shown where somebody asks.
        own_legend: whether the chart keeps its legend; else the page has one for all of its charts.
        selects: whether a person's selection on the chart runs the page again.

    Returns:
        What is selected, by the name of the chart's selection.
    """
    with title_row(data.name):
        st.markdown(f"**{plain(title)}**", help=plain(source) or None)
        show_source(data, partial(on_paper, title, draw))
    drawing = draw(theme())
    chart = drawing if own_legend else without_legend(drawing)
    _dress(chart)
    key = f"chart-{data.name}-{title}"
    height = height_of(chart)
    selected: Mapping[str, Any] = {}
    if selects:
        # Drawn of other rows it is another chart: what was selected among the rows before is not selected here.
        key += f"-{zlib.crc32(data.shown_sql.encode())}"
        picked = st.altair_chart(chart, width="stretch", height=height, key=key, alt=title, on_select="rerun")
        selected = picked.selection
    else:
        st.altair_chart(chart, width="stretch", height=height, key=key, alt=title)
    if caption:
        st.caption(plain(caption))
    return selected


def show_drawing(title: str, drawing: Drawing, name: str) -> None:
    """Draw a chart alone, which has its own legend or needs none; whoever shows it says what it is."""
    _dress(drawing)
    st.altair_chart(drawing, width="stretch", height=height_of(drawing), key=f"chart-{name}", alt=title)


def title_row(name: str) -> DeltaGenerator:
    """A row for a title and the menu at its right, with a place of its own in the page's address."""
    return st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        gap="small",
        key=f"{ANCHOR}{anchor_of(name)}",
    )


def anchor_of(name: str) -> str:
    """What comes after `#` in the address of a figure."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


_QUIET = {"light": "#636160", "dark": "#b7b5b3"}
"""Of the words on axes and in legends: as loud as a caption."""


def _dress(chart: Drawing) -> None:
    """The chart as pages show it: words of its axes at their ticks, as loud as a caption, and room for the last one."""
    chart.padding = _PADDING
    quiet = _QUIET[theme()]
    words = {"labelColor": quiet, "titleColor": quiet}
    config = alt.Config() if chart.config is alt.Undefined else chart.config
    for name, more in (("axis", {"labelFlush": False, **words}), ("legend", words)):
        before = config[name]
        config[name] = {**({} if before is alt.Undefined else before.to_dict()), **more}
    chart.config = config
    _leave_unchecked(chart)


def _leave_unchecked(chart: Drawing) -> None:
    """Have Streamlit take the chart as it is: to hold it against altair's schema takes a third of a page's time.

    Tests and downloads do hold it against the schema. Altair takes attributes for parts of the drawing, hence the way.
    """
    object.__setattr__(chart, "to_dict", partial(chart.to_dict, validate=False))


def height_of(drawing: Drawing) -> int | Literal["content"]:
    """Pixels that the page keeps free for a chart before it is drawn, so that nothing under it jumps."""
    height = getattr(drawing, "height", None)
    return height if isinstance(height, int) else "content"


def without_legend(chart: Drawing) -> Drawing:
    """The chart for a page that has one legend for all of its charts."""
    bare: Drawing = chart.copy(deep=True)
    for part in bare.layer if isinstance(bare, alt.LayerChart) else [bare]:
        colour = getattr(getattr(part, "encoding", None), "color", None)
        if isinstance(colour, alt.Color):
            colour["legend"] = None
    return bare


def on_paper(title: str, draw: Draw) -> Drawing:
    """The chart as it stands by itself: with its title and its legend, on white."""
    drawing: Drawing = draw("light").properties(title=title, width=_PAPER_WIDTH)
    return drawing


def show_source(data: Data, picture: Callable[[], Drawing] | None = None) -> None:
    """A menu: the SQL behind something, its picture and its rows to take along, its address.

    Files are made when somebody asks for them: a page does not wait for what it does not show.
    """
    with st.popover(MENU, type="tertiary", help="SQL, data, picture and link"):
        st.code(data.shown_sql, language="sql")
        on = {} if data.corpus is None else {"corpus": data.corpus}
        st.page_link(script_of("sql"), label="Open on the SQL page", query_params={"query": data.sql, **on})
        _downloads(data, picture)
        st.caption("Link to it")
        st.code(here(anchor_of(data.name)), language=None)


def show_files(name: str, frame: pl.DataFrame, picture: Callable[[], Drawing] | None = None) -> None:
    """The menu of what comes from no statement, since a model ran for it: its picture, its rows, its address.

    Args:
        name: of the files.
        frame: the rows.
        picture: makes the chart as it stands by itself; None: there is none.
    """
    with st.popover(MENU, type="tertiary", help="Data, picture and link"):
        _downloads(Data(name, "", frame), picture)
        st.caption("Link to it")
        st.code(here(anchor_of(name)), language=None)


def _downloads(data: Data, picture: Callable[[], Drawing] | None) -> None:
    with st.container(horizontal=True, gap="small"):
        if picture is not None:
            _download(data.name, "PNG", "image/png", lambda: drawn(picture(), "png"))
            _download(data.name, "SVG", "image/svg+xml", lambda: drawn(picture(), "svg"))
        _download_rows(data.name, data.frame)


def download_data(name: str, frame: pl.DataFrame) -> None:
    """Two quiet buttons: the rows as CSV and as Parquet."""
    with st.container(horizontal=True, gap="small"):
        _download_rows(name, frame)


def _download_rows(name: str, frame: pl.DataFrame) -> None:
    _download(name, "CSV", "text/csv", lambda: csv_of(frame))
    _download(name, "Parquet", "application/vnd.apache.parquet", lambda: parquet_of(frame))


def csv_of(frame: pl.DataFrame) -> bytes:
    """The rows as CSV, as the commands write them."""
    buffer = io.BytesIO()
    encode_rows([frame], "csv", buffer)
    return buffer.getvalue()


def parquet_of(frame: pl.DataFrame) -> bytes:
    """The rows as Parquet."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _download(name: str, label: str, mime: str, content: Callable[[], bytes]) -> None:
    kind = label.lower()
    st.download_button(
        label,
        content,
        file_name=f"{name}.{kind}",
        mime=mime,
        type="tertiary",
        key=f"{kind}-{name}",
        on_click="ignore",
    )
