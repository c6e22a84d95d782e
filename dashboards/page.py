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
from queries.models import KnownModel, choose_models

Theme = Literal["light", "dark"]

_FEWEST_CORPORA = 2
"""Of one there is nothing to choose."""

# Streamlit leaves a hand's breadth above a page and a finger's below a chart, and its editor sets SQL in the face of
# prose.
_STYLE = """
<style>
.stMainBlockContainer { padding-top: 3.6rem; padding-bottom: 2rem; }
.stMainBlockContainer h1 { font-size: 1.6rem; padding: 0.2rem 0 0.4rem; }
.stMainBlockContainer h3 { font-size: 1.1rem; padding: 0.8rem 0 0.2rem; }
.stMainBlockContainer .stElementContainer:has(.stVegaLiteChart) { margin-bottom: -1.2rem; }
.stMainBlockContainer [data-testid="stPageLink-NavLink"] { background: none; }
.stMainBlockContainer [data-testid="stPageLink-NavLink"] p { font-weight: 400; }
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


def corpora_of(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[str]:
    """Names of the corpora that any of the models was measured on."""
    return sorted({one.corpus for one in measured_corpora(connection, models)})


def pick_corpus(
    connection: duckdb.DuckDBPyConnection,
    models: Sequence[str],
    *,
    width: int | Literal["stretch"] = "stretch",
    is_labelled: bool = False,
) -> str | None:
    """Let the person choose a corpus where the models have several; None: the one that each model shows."""
    names = corpora_of(connection, models)
    if len(names) < _FEWEST_CORPORA:
        return None
    wanted = asked("corpus")
    picked = st.selectbox(
        "Corpus",
        names,
        index=names.index(wanted) if wanted in names else None,
        key="corpus",
        placeholder="shown corpus",
        label_visibility="visible" if is_labelled else "collapsed",
        width=width,
    )
    remember(corpus=picked)
    return picked


def pick_model(connection: duckdb.DuckDBPyConnection) -> KnownModel:
    """Let the person choose one model, the smallest unless the address names another."""
    models = {model.name: model for model in choose_models(connection)}
    names = list(models)
    wanted = asked("model")
    index = names.index(wanted) if wanted in models else 0
    name = st.selectbox("Model", names, index=index, key="model", label_visibility="collapsed")
    remember(model=name)
    return models[name]


def pick_models(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Let the person choose models, the plain sizes unless the address names others."""
    everything = choose_models(connection)
    names = [model.name for model in everything]
    sizes = [model.name for model in everything if model.variant is None]
    usual = sizes if len(sizes) > 1 else names
    known = [name for name in (asked("models") or "").split(",") if name in names]
    picked = st.multiselect(
        "Models", names, default=known or usual, key="models", placeholder="sizes", label_visibility="collapsed"
    )
    chosen = [name for name in names if name in picked] or usual
    remember(models=None if chosen == usual else ",".join(chosen))
    return chosen


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
