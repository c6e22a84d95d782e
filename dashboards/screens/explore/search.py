"""The page that searches: words and conditions in, rows of neurons out, each a way to its neuron."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

import duckdb
import polars as pl
import streamlit as st

from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.parts.chance import show_chance
from neurothek.dashboards.parts.found_rows import grid_html, muted_caption, search_rows_html, with_most_of_ffn
from neurothek.dashboards.parts.muted import pick_muted
from neurothek.dashboards.parts.search_fields import SearchRequest, ask, chips
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, keep_asked, remember
from neurothek.dashboards.widgets.figures import download_data
from neurothek.dashboards.widgets.html import SHEET, plain, prose
from neurothek.dashboards.widgets.links import link_html, question_here
from neurothek.dashboards.widgets.page import all_models, heading, show_errors, theme
from neurothek.queries.ask.statements import records
from neurothek.queries.explain.pages import explanations_page
from neurothek.queries.names.models import choose_models, sizes_of
from neurothek.queries.search.by_likeness import AlikeResult
from neurothek.queries.search.by_reading import ReadingResult
from neurothek.queries.search.by_score import ScoredResult
from neurothek.queries.search.by_trigger import TriggeredResult
from neurothek.queries.search.by_word import SearchResult
from neurothek.queries.search.condition import AskedModels, models_asked, variants_hint
from neurothek.queries.views.scored_texts import SCORES_OF_WORDS

_WORDS_THAT_ARE_TOKENS = """\
-- Those of some words that are tokens of any tokenizer, in the order in which they are given.
select asked.word,
from (select unnest($words::varchar[]) as word, generate_subscripts($words::varchar[], 1) as place) as asked
where exists (select 1 from store.tokens as tokens where tokens.word = lower(asked.word))
order by asked.place
"""

_SWITCH = "the switch Include variants adds them"

_LONG_NOTES = 400
"""Letters: some three lines of a wide window."""

MOST_BESIDE = 20
"""Rows of models side by side."""

Result = SearchResult | TriggeredResult | ReadingResult | AlikeResult | ScoredResult

# Columns of the table, of whichever result; the downloads hold all.
COLUMNS = (
    *("address", "pole", "pole_activation", "overlap", "null_99", "strength", "z_sum", "score", "z_score"),
    *("rank", "rank_from_bottom", "n_words"),
    *(
        "side",
        "matched",
        "matched_readers",
        "matched_ranks",
        "matched_sides",
        "recalls",
        "shares",
        "n_promoted",
        "n_suppressed",
    ),
    *("neighbours", "top_tokens", "frequency", "never_active", "token_status", "n_tokens_seen"),
)

# Columns that say nothing where all rows have one value.
_TELL_APART = ("n_words", "side", "matched_sides", "token_status", "pole", "pole_activation")

EXAMPLES = ("school", "river", "London", "music", "return", "red", "never", "because", "blood", "dollars")
"""Words to try, those of them that are tokens of a model."""

_MOST_EXAMPLES = 5

IN_EACH_SIZE = "in each size: one column per model; "
KINDS = (
    "Promote, suppress: neurons with the word among their tokens of largest or smallest score; near words: also those "
    f"nearest to it in the unembedding; {IN_EACH_SIZE}fires on: neurons that fire on the token and on little else; "
    "like a neuron: those whose lists overlap most with its own."
)
"""What each kind of search does."""


def show() -> None:
    """The page from top to bottom."""
    heading("Search")
    if address_value("q") is not None:
        # What most search pages call their words.
        remember(words=address_value("words") or address_value("q"), q=None)
    with show_errors():
        with backend().warehouse.reader() as connection:
            models = choose_models(connection)
            sizes = sizes_of(models)
            request = ask([model.name for model in sorted(models, key=lambda model: model not in sizes)])
            if request.is_empty:
                _examples(connection)
                return
            if request.explained:
                _explained(connection, request)
                return
            if request.question.words:
                keep_asked("words", words=shlex.join(request.question.words))
            scope = models_asked(connection, request.question, reference=(request.like or "").partition("/")[0])
        # The lease ends before weights are read, which may take longer than a publisher should wait.
        if request.by_score:
            with st.spinner("computing scores from the weights"):
                _result(backend().score(request.question), request)
        elif request.side_by_side:
            _beside(scope, request)
        else:
            _answer(request)


def _explained(connection: duckdb.DuckDBPyConnection, request: SearchRequest) -> None:
    """Explanations that hold the words, those that beat their controls most first; no score without its controls."""
    question = request.question
    answer = explanations_page(connection, "explained", question.models, words=question.words)
    rows = answer.beside_controls().head(question.limit)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"):
        st.markdown(f"**{plain(answer.summary)}**")
        if not rows.is_empty():
            download_data("explanations", answer.explanations)
    if rows.is_empty():
        st.info("No explanation holds these words; the command explain makes explanations.")
        return
    if rows.height < answer.explanations.height:
        st.caption(f"The first {rows.height:,}.")
    tables.link_to_neurons(rows, rows.columns, key="explained", height=640)
    st.caption(plain(SCORES_OF_WORDS))


def _examples(connection: duckdb.DuckDBPyConnection) -> None:
    """What a person may ask, to click on."""
    rows = records(connection, _WORDS_THAT_ARE_TOKENS, {"words": list(EXAMPLES)})
    words = [row["word"] for row in rows][:_MOST_EXAMPLES]
    # A column a model says nothing of one.
    has_sizes = len(all_models()) > 1
    questions = [(word, {"words": word}) for word in words]
    if words:
        first, last = words[0], words[-1]
        questions += [
            (f"{last}, suppressed", {"words": last, "side": "suppressed"}),
            (f"{first} and words near it", {"words": first, "concept": "yes"}),
            *([(f"{first} in each size", {"words": first, "beside": "yes"})] if has_sizes else []),
            (f"what fires on {last}", {"triggered_by": last}),
        ]
    links = "".join(f"<span>{link_html(label, 'search', **parameters)}</span>" for label, parameters in questions)
    if questions:
        st.html(f'{SHEET}<div class="nt-examples"><span>Try</span><div>{links}</div></div>')
    st.caption(KINDS if has_sizes else KINDS.replace(IN_EACH_SIZE, ""))
    st.caption(
        "A word stands for every token that reads the same, whatever its case and white space; quote a "
        'word that contains a space: "new york". In results · is a space and ↵ a line end.'
    )


def _answer(request: SearchRequest) -> None:
    result = backend().answer(request.question, like=request.like)
    if isinstance(result, SearchResult) and result.near:
        chips(result.near, request.question.left_out)
    _result(result, request)


def _beside(scope: AskedModels, request: SearchRequest) -> None:
    """One column a model, plain sizes first."""
    _notes(variants_hint(scope.left_out, _SWITCH))
    answers, without = {}, []
    sizes = sizes_of(scope.models)
    for model in sorted(scope.models, key=lambda model: model not in sizes):
        with show_errors():
            question = replace(request.question, models=(model.name,))
            neurons = backend().answer(question, like=request.like).neurons
            if neurons.is_empty():
                without.append(model.name)
            else:
                answers[model.name] = neurons
    if answers:
        st.html(grid_html(answers, _taken_along(request), most=MOST_BESIDE))
        most = max(neurons.height for neurons in answers.values())
        cut = f"The first {MOST_BESIDE} of each model." if most > MOST_BESIDE else ""
        st.caption(cut)
        download_data("neurons", pl.concat(list(answers.values())))
    if without:
        st.info(plain(f"No neuron of {', '.join(without)} meets these conditions."))


def _result(result: Result, request: SearchRequest) -> None:
    neurons = result.neurons
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"):
        st.markdown(f"**{plain(f'{result.title[:1].upper()}{result.title[1:]}')}**")
        if not neurons.is_empty():
            download_data("neurons", neurons)
    absent = result.absent if isinstance(result, TriggeredResult) else ()
    notes = [note for note in result.notes if note not in absent]
    _notes([*notes, *variants_hint(result.left_out, _SWITCH)])
    room = st.container()
    if neurons.is_empty():
        st.info(plain(f"{'; '.join(['No neuron meets these conditions', *absent])}."))
    elif request.as_table or request.question.reads:
        columns = [name for name in COLUMNS if name in neurons.columns and _tells(neurons, name)]
        tables.link_to_neurons(neurons, columns, key="found", height=640)
    else:
        colour = (CONTRAST if request.question.side == "suppressed" else ACCENT)[theme()]
        muted = pick_muted({address.rpartition("/")[0] for address in neurons.get_column("address")})
        with backend().warehouse.reader() as connection:
            beside = with_most_of_ffn(connection, neurons, request.question.corpus)
        st.html(search_rows_html(beside, _taken_along(request), colour=colour, muted=muted))
        if pale := muted_caption(neurons, muted):
            st.caption(pale)
    if isinstance(result, SearchResult):
        with room, backend().warehouse.reader() as connection:
            show_chance(connection, result)


def _taken_along(request: SearchRequest) -> dict[str, str]:
    """What a neuron's page is told of the question: the words, and the way back to the results."""
    return {"word": shlex.join(request.question.words), "found": question_here()}


def _notes(notes: Sequence[str]) -> None:
    """What is to be known of the answer; what would push the answer off the page is folded away."""
    text = "; ".join(notes) + "."
    text = f"{text[:1].upper()}{text[1:]}"
    if len(text) > _LONG_NOTES:
        with st.expander("Tokens matched by the words"):
            st.caption(prose(".\n\n".join(f"{note[:1].upper()}{note[1:]}" for note in notes) + "."))
    elif notes:
        st.caption(prose(text))


def _tells(neurons: pl.DataFrame, name: str) -> bool:
    values = neurons.get_column(name)
    each = values.explode() if isinstance(values.dtype, pl.List) else values
    return name not in _TELL_APART or each.n_unique() > 1


show()
