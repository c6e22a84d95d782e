"""The page that searches: words and conditions in, a table of neurons out, each row a way to its neuron."""

from collections.abc import Sequence
from dataclasses import replace

import duckdb
import polars as pl
import streamlit as st

from dashboards.parts.search_fields import Wanted, ask, chips
from dashboards.session import desk
from dashboards.widgets import tables
from dashboards.widgets.figures import download_data
from dashboards.widgets.html import plain
from dashboards.widgets.page import heading, said
from queries.names.models import choose_models
from queries.search.by_likeness import AlikeResult, alike
from queries.search.by_score import ScoredResult
from queries.search.by_trigger import TriggeredResult, triggered
from queries.search.by_word import SearchResult, search
from queries.search.scope import models_asked, variants_hint

_SWITCH = "switch on “Include variants” to search all"

_LONG_NOTES = 400
"""Letters: some three lines of a wide window."""

Result = SearchResult | TriggeredResult | AlikeResult | ScoredResult

# Columns of the tables, of whichever result; the downloads hold all.
COLUMNS = (
    *(
        "address",
        "overlap",
        "null_99",
        "strength",
        "z_sum",
        "score",
        "z_score",
        "rank",
        "rank_from_bottom",
        "n_words",
        "side",
    ),
    *("matched", "matched_sides", "recalls", "shares", "n_promoted", "n_suppressed", "neighbours", "top_tokens"),
    *("frequency", "never_active", "token_status", "n_tokens_seen"),
)

# Where each model has a table of its own, there is room for less.
NARROW = ("address", "overlap", "null_99", "strength", "z_sum", "score", "rank", "matched", "top_tokens")

# In a narrow window the tables stand under each other.
_STYLE = """
<style>
@media (max-width: 1100px) {
  .st-key-beside_each_other [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  .st-key-beside_each_other [data-testid="stColumn"] { min-width: 100%; }
}
</style>
"""

# Columns that say nothing where all rows have one value.
_TELL_APART = ("n_words", "side", "matched_sides", "token_status")


def show() -> None:
    """The page from top to bottom."""
    heading("Search")
    with said():
        with desk().warehouse.reader() as connection:
            models = [model.name for model in choose_models(connection)]
            wanted = ask(models)
            if wanted.is_empty:
                st.caption(
                    "A word stands for every token that reads the same, whatever its case and white space; quote a "
                    'word that contains a space: "new york". In tables · is a space and ↵ a line end.'
                )
                return
            if not wanted.by_score:
                _answer(connection, wanted)
                return
        # The lease ends before weights are read, which takes longer than a publisher should wait.
        with st.spinner("computing scores from the weights"):
            _result(desk().score(wanted.question), key="found", columns=COLUMNS)


def _answer(connection: duckdb.DuckDBPyConnection, wanted: Wanted) -> None:
    if not wanted.side_by_side:
        result = _found(connection, wanted)
        if isinstance(result, SearchResult) and result.near:
            chips(result.near, wanted.question.left_out)
        _result(result, key="found", columns=COLUMNS)
        return
    asked = models_asked(connection, wanted.question, own=(wanted.like or "").partition("/")[0])
    names = [model.name for model in asked.models]
    _notes(variants_hint(asked.left_out, _SWITCH))
    n_columns = min(3, len(names))
    st.html(_STYLE)
    with st.container(key="beside_each_other"):
        for start in range(0, len(names), n_columns):
            columns = st.columns(n_columns, gap="medium")
            for column, name in zip(columns, names[start : start + n_columns], strict=False):
                with column, said():
                    st.subheader(name, anchor=False)
                    question = replace(wanted.question, models=(name,))
                    _result(_found(connection, replace(wanted, question=question)), key=f"found-{name}", columns=NARROW)


def _found(connection: duckdb.DuckDBPyConnection, wanted: Wanted) -> Result:
    question = wanted.question
    if wanted.like is not None:
        return alike(connection, wanted.like, question)
    if question.triggered_by and not question.words:
        return triggered(connection, question)
    return search(connection, question)


def _result(result: Result, *, key: str, columns: tuple[str, ...]) -> None:
    st.markdown(f"**{plain(result.title)}**")
    _notes([*result.notes, *variants_hint(result.left_out, _SWITCH)])
    neurons = result.neurons
    if neurons.is_empty():
        st.info("No neuron meets these conditions.")
        return
    told = [name for name in columns if name in neurons.columns and _tells(neurons, name)]
    tables.link_to_neurons(neurons, told, key=key, height=640)
    download_data("neurons" if key == "found" else key.replace("found", "neurons"), neurons)


def _notes(notes: Sequence[str]) -> None:
    """What is to be known of the answer; what would push the answer off the page is folded away."""
    told = "; ".join(notes) + "."
    if len(told) > _LONG_NOTES:
        with st.expander("What the words stand for"):
            st.caption(plain(".\n\n".join(notes) + "."))
    elif notes:
        st.caption(plain(told))


def _tells(neurons: pl.DataFrame, name: str) -> bool:
    values = neurons.get_column(name)
    each = values.explode() if isinstance(values.dtype, pl.List) else values
    return name not in _TELL_APART or each.n_unique() > 1


show()
