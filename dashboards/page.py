"""What every page shares: its lease on the warehouse, the person's theme, and how it says that something is missing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import duckdb
import streamlit as st

import neurothek
from catalog import advice
from catalog.advice import command_line
from catalog.errors import NeurothekError
from catalog.store.errors import WarehouseMissing
from dashboards.text import plain
from queries.errors import NoModels
from queries.names.corpora import measured_corpora
from queries.names.models import KnownModel, choose_models
from queries.names.unmeasured import corpus_words

Theme = Literal["light", "dark"]
Known = TypeVar("Known", str, int)

_LARGEST = 2**53 - 1
"""Up to so many a browser can count."""

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
        st.info(told(str(missing)))
    except NeurothekError as error:
        st.error(told(str(error)))


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
    wanted = asked_among("corpus", names)
    if len(names) < _FEWEST_CORPORA:
        return None
    picked = st.selectbox(
        "Corpus",
        names,
        index=None if wanted is None else names.index(wanted),
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
    wanted = asked_among("model", names)
    index = 0 if wanted is None else names.index(wanted)
    name = st.selectbox("Model", names, index=index, key="model", label_visibility="collapsed")
    remember(model=name)
    return models[name]


def pick_models(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Let the person choose models, the plain sizes unless the address names others."""
    everything = choose_models(connection)
    names = [model.name for model in everything]
    sizes = [model.name for model in everything if model.variant is None]
    usual = sizes if len(sizes) > 1 else names
    known = asked_models(names)
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
    corpus: str | None = None,
) -> None:
    """Say that models were not measured by jobs, on a corpus if one was asked for, and which command does it."""
    asked_for = "" if corpus is None else f" The corpus asked for is {corpus}."
    st.info(plain(f"{what}{asked_for}"))
    chosen = (word for job in jobs for word in ("--job", job))
    show_command(command_line("ingest", *models, *chosen, *corpus_words(connection, models, corpus)))


def show_command(command: str) -> None:
    """A command to copy, about the warehouse that the pages show."""
    st.code(advice.with_warehouse(command, path) if (path := elsewhere()) else command, language="sh", wrap_lines=True)


def told(text: str) -> str:
    """A sentence as Markdown that shows it unchanged; what it recommends is about the warehouse that the pages show."""
    path = elsewhere()
    return plain(advice.about(text, path) if path else text)


def elsewhere() -> Path | None:
    """Where the warehouse lies, unless a command that is typed in this folder finds it by itself."""
    path = neurothek.open().path
    return None if path.absolute() == Path(neurothek.DEFAULT_WAREHOUSE).absolute() else path


def theme() -> Theme:
    """Whether the person's browser shows the page light or dark."""
    return st.context.theme.type or "light"


def asked(name: str) -> str | None:
    """A value of the page's address, or None."""
    value = st.query_params.get(name)
    return value or None


def asked_among(name: str, known: Iterable[Known], *, is_silent: bool = False) -> Known | None:
    """The one of these that the page's address names; it is said where it names another, lest a link mislead."""
    wanted = asked(name)
    if wanted is None:
        return None
    found = {str(one): one for one in known}.get(wanted)
    if found is None and not is_silent:
        _say_unknown(name, [wanted])
    return found


def asked_models(known: Collection[str]) -> list[str]:
    """Those of these models that the page's address lists; it is said where it lists others."""
    wanted = [name for name in (asked("models") or "").split(",") if name]
    _say_unknown("model", [name for name in wanted if name not in known])
    return [name for name in wanted if name in known]


def _say_unknown(what: str, names: Sequence[str]) -> None:
    if names:
        st.warning(plain(f"The address asks for what is not here: {what} {', '.join(names)}."))


def asked_number(name: str, *, least: int = 0, most: int = _LARGEST) -> int | None:
    """A whole number of the page's address, brought between the bounds; None where it holds none."""
    typed = asked(name) or ""
    if not typed.isdecimal():
        return None
    # Python reads no numbers of thousands of digits.
    return most if len(typed) > len(str(most)) else min(most, max(least, int(typed)))


def remember(**values: str | None) -> None:
    """Put values into the page's address, so that it can be reloaded and sent; None takes one out."""
    for name, value in values.items():
        if value:
            if st.query_params.get(name) != value:
                st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]
