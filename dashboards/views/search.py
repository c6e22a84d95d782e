"""The page that searches: words and conditions in, a table of neurons out, each row a way to its neuron."""

import shlex
from collections.abc import Sequence

import duckdb
import streamlit as st

from dashboards import tables
from dashboards.figures import download_data
from dashboards.page import answer, asked, heading, remember
from dashboards.text import plain
from queries.alike import AlikeResult, alike
from queries.models import choose_models
from queries.question import SIDES, Question, Side, parse_layers
from queries.search import SearchResult, search

# Columns of the table; the downloads hold all.
COLUMNS = ("address", "z_sum", "n_words", "side", "matched", "neighbours", "frequency", "never_active", "n_tokens_seen")
ALIKE = ("address", "overlap", "n_promoted", "n_suppressed", "top_tokens", "frequency")

_MOST = 1000
_DEFAULT_LIMIT = 100


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Search")
    question, like = _question(connection)
    if like:
        _results(alike(connection, like, question), ALIKE)
        return
    if not question.words:
        st.caption(
            "A word stands for every token that reads so, whatever its case and white space; quote a word that "
            'holds blanks: "new york". In tables · is a blank and ↵ a line end.'
        )
        return
    _results(search(connection, question), COLUMNS)


def _question(connection: duckdb.DuckDBPyConnection) -> tuple[Question, str]:
    """What is searched for, and the address of the neuron that others are to be like, or nothing."""
    models = [model.name for model in choose_models(connection)]
    first, second = st.columns([3, 2], vertical_alignment="bottom")
    typed = first.text_input("Words", asked("words") or "", key="words", placeholder="school university")
    side: Side = (
        second.segmented_control("Neurons that", SIDES, default=_side(), key="side", format_func=_spoken) or "promoted"
    )
    remember(words=typed, side=None if side == "promoted" else side)
    with st.expander("Conditions", expanded=bool(asked("like"))):
        left, middle, right = st.columns(3)
        wanted = [name for name in (asked("models") or "").split(",") if name in models]
        chosen = left.multiselect("Models", models, default=wanted, key="search_models", placeholder="all models")
        layers = left.text_input("Layers", key="layers", placeholder="3 or 3-5")
        without = middle.text_input("Without the words", key="without")
        where = middle.text_input(
            "Condition on neurons, in SQL", asked("where") or "", key="where", placeholder="frequency < 0.01"
        )
        like = right.text_input(
            "Like the neuron", asked("like") or "", key="like", placeholder="its address, in place of words"
        )
        min_count = right.number_input("Tokens at least so often in the corpus", 0, key="min_count")
        limit = right.number_input("Most neurons", 1, _MOST, _DEFAULT_LIMIT, key="limit")
        switches = st.columns(3)
        match_all = switches[0].toggle("Every word must be listed", key="match_all")
        exact = switches[1].toggle(
            "Exact tokens", key="exact", help="White space and case count; · stands for a blank."
        )
        alive = switches[2].toggle("Only neurons that fired", key="alive")
    remember(where=where, like=like.strip(), models=",".join(chosen))
    question = Question(
        words=words_of(typed),
        side=side,
        models=tuple(chosen),
        layers=parse_layers(layers) if layers.strip() else None,
        match_all=match_all,
        exact=exact,
        without=words_of(without),
        where=where.strip() or None,
        min_count=int(min_count),
        alive=alive,
        limit=int(limit),
    )
    return question, like.strip()


def words_of(typed: str) -> tuple[str, ...]:
    """The words of a line: separated by blanks, a quoted one keeps its own; a lone quotation mark is itself."""
    try:
        return tuple(word for word in shlex.split(typed, posix=True) if word)
    except ValueError:
        return tuple(typed.split())


def _results(result: SearchResult | AlikeResult, columns: Sequence[str]) -> None:
    st.markdown(f"**{plain(result.title)}**")
    if result.notes:
        st.caption(plain("; ".join(result.notes) + "."))
    found = result.neurons
    if found.is_empty():
        st.info("No neuron lists that under these conditions.")
        return
    told = [name for name in columns if name not in ("n_words", "side") or found.get_column(name).n_unique() > 1]
    tables.link_to_neurons(found, told, key="found", height=640)
    download_data("neurons", found)


def _side() -> Side:
    return next((side for side in SIDES if side == asked("side")), "promoted")


def _spoken(side: Side) -> str:
    return {"promoted": "promote", "suppressed": "suppress", "both": "either"}[side]


answer(show)
