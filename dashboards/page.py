"""What every page shares: its lease on the warehouse, the person's theme, and how it says that something is missing."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import duckdb
import streamlit as st

import neurothek
from catalog.errors import NeurothekError
from catalog.warehouse import WarehouseMissing
from dashboards.text import plain
from queries import listing
from queries.corpora import measured_corpora
from queries.errors import NoModels

Theme = Literal["light", "dark"]

_FEWEST_CORPORA = 2
"""Of one there is nothing to choose."""

# Streamlit leaves a hand's breadth above a page, and its editor sets SQL in the face of prose.
_STYLE = """
<style>
.stMainBlockContainer { padding-top: 3.6rem; padding-bottom: 2rem; }
.stMainBlockContainer h1 { font-size: 1.6rem; padding: 0.2rem 0 0.4rem; }
.stMainBlockContainer h3 { font-size: 1.1rem; padding: 0.8rem 0 0.2rem; }
.stTextArea textarea { font-family: monospace; }
</style>
"""


def answer(ask: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
    """Lease a reader for one run of a page, or of a part of it; what cannot be answered is said in a sentence.

    The door itself is asked, not `Neurothek.reader`, which may write the views of a new release first.
    """
    with said(), neurothek.open().warehouse.reader() as connection:
        ask(connection)


@contextmanager
def said() -> Iterator[None]:
    """Say in a sentence what cannot be answered."""
    try:
        yield
    except (WarehouseMissing, NoModels) as missing:
        st.info(plain(str(missing)))
    except NeurothekError as error:
        st.error(plain(str(error)))


def heading(title: str) -> None:
    """The page's title, and what streamlit's own style lacks."""
    st.html(_STYLE)
    st.title(plain(title), anchor=False)


def pick_corpus(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> str | None:
    """Let the person choose a corpus where the models have several; None: the one that each model shows."""
    names = sorted({one.corpus for one in measured_corpora(connection, models)})
    if len(names) < _FEWEST_CORPORA:
        return None
    wanted = asked("corpus")
    picked = st.selectbox(
        "Corpus",
        names,
        index=names.index(wanted) if wanted in names else None,
        key="corpus",
        placeholder="shown corpus",
        label_visibility="collapsed",
    )
    remember(corpus=picked)
    return picked


def missing(
    connection: duckdb.DuckDBPyConnection,
    what: str,
    models: Sequence[str],
    *,
    jobs: Sequence[str] = ("activity", "contexts"),
) -> None:
    """Say that models were not measured by jobs, and which command does it."""
    listed = listing.models(connection)
    sources = dict(zip(listed.get_column("model"), listed.get_column("source"), strict=True))
    st.info(plain(what))
    st.code(ingest_command({model: sources[model] for model in models}, jobs), language="sh", wrap_lines=True)


def ingest_command(sources: Mapping[str, str], jobs: Sequence[str]) -> str:
    """What to type to run jobs on models: model -> where its weights came from."""
    named = [source if Path(source).name == model else f"{model}={source}" for model, source in sources.items()]
    return " ".join(["neurothek ingest", *map(shlex.quote, named), *(f"--job {job}" for job in jobs)])


def theme() -> Theme:
    """Whether the person's browser shows the page light or dark."""
    return st.context.theme.type or "light"


def asked(name: str) -> str | None:
    """A value of the page's address, or None."""
    value = st.query_params.get(name)
    return value or None


def remember(**values: str | None) -> None:
    """Put values into the page's address, so that it can be reloaded and sent; None takes one out."""
    for name, value in values.items():
        if value:
            if st.query_params.get(name) != value:
                st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]
