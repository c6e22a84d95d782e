"""The fields of a search on a page: what the command asks for, each kept in the page's address."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from neurothek.catalog.problems import Invalid
from neurothek.dashboards.widgets.address import address_value, asked_models, asked_number, own_key, remember
from neurothek.queries.search.question import NEURON_FLAGS, SIDES, Question, Side, parse_depth, parse_layers

_MOST = 1000
_USUAL_LIMIT = 100
_USUAL_NEIGHBOURS = 5
_YES = "yes"

_FOLDED = (
    *("suppresses", "triggered_by", "without", "like", "models", "layers", "depth", "where", "min_count", "limit"),
    *(
        "neighbours",
        "match_all",
        "exact",
        "reads",
        "explained",
        "score",
        "variants",
        "scripts",
        "patterns",
        "bytes",
        "corpus",
        *NEURON_FLAGS,
    ),
)
"""Entries of the address whose fields are folded away unless one of them is asked for."""


@dataclass(frozen=True)
class SearchRequest:
    """What a person asks for."""

    question: Question  # the search
    like: str | None  # address of a neuron, in place of words
    by_score: bool  # whether exact scores are wanted, from the weights
    side_by_side: bool  # whether each model has a column of its own
    as_table: bool = False  # whether the neurons are wanted as a table to sort
    explained: bool = False  # whether the words are those of explanations

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for yet."""
        return not (self.explained or self.question.is_about_tokens or self.question.triggered_by or self.like)


def ask(models: Sequence[str]) -> SearchRequest:
    """Draw the fields and put together what stands in them.

    Args:
        models: the models to choose among.
    """
    first, second = st.columns([3, 2], vertical_alignment="bottom")
    with first:
        words = words_of(_text("Words", "words", placeholder="school university"))
    with second:
        side = _side()
    with st.container(horizontal=True, gap="medium"):
        concept = _switch("Widen with near words", "concept", "The nearest tokens in each model's unembedding.")
        side_by_side = _switch("Models side by side", "beside")
        as_table = _switch("Table to sort", "table")
    fields = _conditions(models)
    question = Question(
        words=words,
        side=side,
        concept=concept,
        left_out=words_of(address_value("left_out") or "") if concept else (),
        models=tuple(name for name in fields["models"].split(",") if name),
        variants=bool(fields["variants"]),
        layers=parse_layers(fields["layers"]) if fields["layers"] else None,
        depth=parse_depth(fields["depth"]) if fields["depth"] else None,
        where=fields["where"] or None,
        suppresses=words_of(fields["suppresses"]),
        triggered_by=words_of(fields["triggered_by"]),
        without=words_of(fields["without"]),
        match_all=bool(fields["match_all"]),
        exact=bool(fields["exact"]),
        min_count=int(fields["min_count"]),
        corpus=fields["corpus"] or None,
        scripts=words_of(fields["scripts"]),
        patterns=words_of(fields["patterns"]),
        bytes=bool(fields["bytes"]),
        limit=int(fields["limit"]),
        neighbours=int(fields["neighbours"]) if concept else _USUAL_NEIGHBOURS,
        alive=bool(fields["alive"]),
        reads=bool(fields["reads"]),
    )
    explained = bool(fields["explained"])
    if explained:
        _require_words_alone()
    return SearchRequest(question, fields["like"] or None, bool(fields["score"]), side_by_side, as_table, explained)


def _require_words_alone() -> None:
    """Refuse conditions that are about tokens where explanations are asked for, as the command does."""
    given = [name for name in (*_FOLDED, "side", "concept", "beside") if address_value(name)]
    for name in given:
        if name not in ("explained", "models", "limit"):
            raise Invalid(
                f"words of explanations cannot be combined with {name.replace('_', ' ')}",
                "clear that condition, or switch off In explanations",
                option=name,
            )


def words_of(typed: str) -> tuple[str, ...]:
    """The words of a line: separated by blanks, a quoted one keeps its own; a lone quotation mark is itself."""
    try:
        return tuple(word for word in shlex.split(typed, posix=True) if word)
    except ValueError:
        return tuple(typed.split())


def chips(near: Sequence[str], left_out: Sequence[str]) -> None:
    """The words that a concept was widened with: a click takes one out, another brings it back.

    Args:
        near: the words, nearest first, also those that are left out.
        left_out: those that a person took out.
    """
    remaining = [word for word in near if word not in left_out]
    st.pills(
        "Widened with",
        list(near),
        selection_mode="multi",
        default=remaining,
        # Other words are another field: Streamlit keeps what was chosen by the field's name.
        key=f"chips-{'-'.join(near)}",
        on_change=_leave_out,
        args=(tuple(near),),
    )


def _leave_out(near: Sequence[str]) -> None:
    remaining = st.session_state[f"chips-{'-'.join(near)}"]
    remember(left_out=shlex.join(word for word in near if word not in remaining) or None)


def _conditions(models: Sequence[str]) -> dict[str, str]:
    is_open = any(address_value(name) for name in _FOLDED)
    fields: dict[str, str] = {}
    with st.expander("Conditions", expanded=is_open):
        left, middle, right = st.columns(3)
        with left:
            fields["suppresses"] = _text("Also suppresses", "suppresses", placeholder="university")
            fields["triggered_by"] = _text("Fires on", "triggered_by", placeholder='"of the"')
            fields["without"] = _text("Does not list", "without")
            fields["like"] = _text("Like the neuron", "like", placeholder=f"{models[-1] if models else 'model'}/L3N17")
            fields["patterns"] = _text("Tokens that match", "patterns", placeholder="^[0-9]+$")
        with middle:
            fields["models"] = _models(models)
            fields["layers"] = _text("Layers", "layers", placeholder="3 or 3-5")
            fields["depth"] = _text("Depths", "depth", placeholder="0.5-1")
            fields["where"] = _text("SQL condition on neurons", "where", placeholder="frequency < 0.01")
            fields["scripts"] = _text("Tokens of the script", "scripts", placeholder="Han")
        with right:
            fields["min_count"] = _number("Least count of tokens in the corpus", "min_count", 0, 10**9, 0)
            fields["limit"] = _number("Neurons at most", "limit", 1, _MOST, _USUAL_LIMIT)
            fields["corpus"] = _text("Corpus", "corpus", placeholder="builtin")
            fields["neighbours"] = _number("Near words per word", "neighbours", 0, 20, _USUAL_NEIGHBOURS)
        # As wide as their words each, on as many lines as they need: cut off, a word would not say what it does.
        with st.container(horizontal=True, gap="small"):
            for label, name, more in _SWITCHES:
                fields[name] = _YES if _switch(label, name, more) else ""
    return fields


_SWITCHES = (
    ("Read the words", "reads", "Neurons whose key likes the words' embeddings most, where the job keys ran."),
    ("In explanations", "explained", "Neurons whose explanations, made with the command explain, hold all words."),
    ("Match every word", "match_all", None),
    ("Exact tokens", "exact", "Case and white space matter; · stands for a space."),
    ("Only neurons that fired", "alive", "On the model's shown corpus."),
    ("Include variants", "variants", "Other seeds, training steps and other architectures, if no model is named."),
    ("Pieces of characters", "bytes", "Tokens that stand for bytes that are no whole character."),
    ("Exact scores", "score", "One word's score for every neuron, from the weights, which must be on this machine."),
)


def _side() -> Side:
    default: Side = next((side for side in SIDES if side == address_value("side")), "promoted")
    spoken = {"promoted": "promote", "suppressed": "suppress", "both": "either"}
    chosen = st.segmented_control(
        "Neurons that", SIDES, default=default, key=own_key("side"), format_func=spoken.__getitem__
    )
    side: Side = chosen or "promoted"
    remember(side=None if side == "promoted" else side)
    return side


def _models(models: Sequence[str]) -> str:
    default = asked_models(models)
    chosen = ",".join(
        st.multiselect("Models", models, default=default, key=own_key("search_models"), placeholder="sizes")
    )
    remember(models=chosen or None)
    return chosen


def _text(label: str, name: str, *, placeholder: str = "") -> str:
    typed = st.text_input(label, address_value(name) or "", key=own_key(name), placeholder=placeholder).strip()
    remember(**{name: typed or None})
    return typed


def _number(label: str, name: str, least: int, most: int, usual: int) -> str:
    value = asked_number(name, least=least, most=most)
    number = str(int(st.number_input(label, least, most, usual if value is None else value, key=own_key(name))))
    remember(**{name: None if number == str(usual) else number})
    return number


def _switch(label: str, name: str, more: str | None = None) -> bool:
    is_on: bool = st.toggle(label, address_value(name) == _YES, key=own_key(name), help=more)
    remember(**{name: _YES if is_on else None})
    return is_on
