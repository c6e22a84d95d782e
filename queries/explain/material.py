"""What an explainer is shown of a neuron, and the contexts that its text is judged by: none of them overlap."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.catalog.tables.explanations import Part
from neurothek.queries.ask.statements import records
from neurothek.queries.names.models import KnownModel, MeasuredCorpus

BEFORE, AFTER = 15, 8
"""Tokens of a context on either side of its place [ours]."""

LENGTH = BEFORE + 1 + AFTER

ACTIVE = 0.1
"""A neuron is active at a token where its coefficient is at least this share of the largest at the pole [ours]."""

MOST_STRONGEST = 8
MOST_TOKENS = 10
"""Contexts of largest activations and tokens promoted that an explainer is shown [ours]."""

_SHOWN_OF_A_THIRD = 1
_STEPS = 127
_LEVELS = 10
_THIRDS: tuple[Part, ...] = ("upper", "middle", "lower")

_NO_FACTS = {"activation_min": None, "activation_max": None, "top_tokens": None, "bottom_tokens": None}

_NEURONS = """\
-- The largest coefficients of some neurons of either sign, and the tokens that they promote then.
with asked as (select unnest($layers::integer[]) as layer, unnest($neurons::integer[]) as neuron)
select facts.layer, facts.neuron, facts.activation_min, facts.activation_max, facts.top_tokens, facts.bottom_tokens,
from store.neuron_facts as facts
inner join asked on asked.layer = facts.layer and asked.neuron = facts.neuron
where facts.set_id = $model_id
"""

_WINDOWS = """\
-- Every activation in the windows of some neurons.
with asked as (select unnest($layers::integer[]) as layer, unnest($neurons::integer[]) as neuron)
select
    windows.layer, windows.neuron, windows.band, windows.rank, windows.sequence_id,
    windows.position - windows.n_before as first, windows.n_before, windows.n_after, windows.nonzero,
    windows.largest::double as largest, windows.activations,
    sequences.tokens[windows.position - windows.n_before + 1:windows.position + windows.n_after + 1] as token_ids,
from store.context_windows as windows
inner join asked on asked.layer = windows.layer and asked.neuron = windows.neuron
inner join store.sequences as sequences
    on sequences.corpus_id = windows.corpus_id and sequences.sequence_id = windows.sequence_id
where windows.set_id = $model_id and windows.corpus_id = $corpus_id
order by windows.layer, windows.neuron, windows.band, windows.rank
"""

_PLACES = """\
-- Places of largest activation of some neurons at either pole: those by pole where they were measured, else of all.
with asked as (select unnest($layers::integer[]) as layer, unnest($neurons::integer[]) as neuron),
places as (
    select layer, neuron, activation, sequence_id, position,
    from store.pole_contexts
    where set_id = $model_id and corpus_id = $corpus_id
    union
    select layer, neuron, activation, sequence_id, position,
    from store.contexts
    where set_id = $model_id and corpus_id = $corpus_id
)
select
    places.layer, places.neuron, places.activation::double as activation, places.sequence_id, places.position,
    sequences.tokens[greatest(places.position - $before, 0) + 1:places.position + $after + 1] as token_ids,
from places
inner join asked on asked.layer = places.layer and asked.neuron = places.neuron
inner join store.sequences as sequences
    on sequences.corpus_id = $corpus_id and sequences.sequence_id = places.sequence_id
order by places.layer, places.neuron, abs(places.activation) desc, places.sequence_id, places.position
"""

_SEQUENCES = """\
-- How long the sequences of a corpus are.
select sequence_id, len(tokens) as n_tokens,
from store.sequences
where corpus_id = $corpus_id and len(tokens) >= $least
order by sequence_id
"""

_SLICES = """\
-- Some tokens of some sequences.
with asked as (select unnest($sequence_ids::integer[]) as sequence_id, unnest($firsts::integer[]) as first)
select asked.sequence_id, asked.first, sequences.tokens[asked.first + 1:asked.first + $length] as token_ids,
from asked
inner join store.sequences as sequences on sequences.sequence_id = asked.sequence_id
where sequences.corpus_id = $corpus_id
"""

_TEXTS = """\
-- Texts of some tokens.
select token_id, text,
from store.tokens
where tokenizer_id = $tokenizer_id and list_contains($ids::integer[], token_id)
"""

NeuronPlace = tuple[int, int]
"""Layer and neuron."""


@dataclass(frozen=True)
class Context:
    """A few tokens of a text in a row, and how active a neuron is at each."""

    sequence_id: int
    first: int  # position of the first token in its sequence
    tokens: tuple[str, ...]
    levels: tuple[int, ...]  # of each token: 0 where it is not active, else 1 to 10 by its share of the largest

    @property
    def text(self) -> str:
        """The tokens in a row."""
        return "".join(self.tokens)

    @property
    def marks(self) -> tuple[int, ...]:
        """Indices of the tokens at which it is active."""
        return tuple(index for index, level in enumerate(self.levels) if level)

    def overlaps(self, other: "Context") -> bool:
        """Whether the two share tokens of a sequence."""
        return (
            self.sequence_id == other.sequence_id
            and self.first < other.first + len(other.tokens)
            and other.first < self.first + len(self.tokens)
        )


@dataclass(frozen=True)
class Material:
    """The contexts of one neuron at one pole, or random ones in their place."""

    displayed: tuple[Context, ...]  # to the explainer
    active: tuple[tuple[Part, Context], ...]  # to the judge, where the neuron is active
    inactive: tuple[Context, ...]  # to the judge, where it is not
    promoted: tuple[str, ...]  # first tokens that it promotes at the pole


@dataclass(frozen=True)
class Subject:
    """A neuron at a pole, and what stands in for it as controls."""

    layer: int
    neuron: int
    pole: str
    material: Material
    made_up: Material  # as many random contexts, called active and inactive at random
    random_text: str  # words drawn from the corpus, put as an explanation


def subjects(
    connection: duckdb.DuckDBPyConnection,
    model: KnownModel,
    corpus: MeasuredCorpus,
    places: Sequence[tuple[NeuronPlace, str | None]],
    *,
    seed: int,
) -> list[Subject | None]:
    """What is put to an endpoint about each neuron, in their order; None of one that is never active at its pole.

    Args:
        connection: a reader.
        model: their model.
        corpus: the text that contexts are from.
        places: each neuron and a pole; None for that of its largest |m|.
        seed: of all draws.
    """
    distinct = sorted({place for place, _ in places})
    asked_for = {"layers": [layer for layer, _ in distinct], "neurons": [neuron for _, neuron in distinct]}
    of_text = {**asked_for, "model_id": model.model_id, "corpus_id": corpus.corpus_id}
    facts = _by_place(records(connection, _NEURONS, {**asked_for, "model_id": model.model_id}))
    windows = _by_place(records(connection, _WINDOWS, of_text))
    strongest = _by_place(records(connection, _PLACES, {**of_text, "before": BEFORE, "after": AFTER}))
    rows = [row for of in (windows, strongest) for several in of.values() for row in several]
    draw = _Drawing(connection, corpus.corpus_id, seed)
    draw.read(len(places))
    texts = _texts(connection, model.tokenizer_id, (one for row in (*rows, *draw.slices) for one in row["token_ids"]))
    answers: list[Subject | None] = []
    for place, pole in places:
        # The first: a file from elsewhere may repeat rows, or lack them.
        known_facts = next(iter(facts.get(place, ())), _NO_FACTS)
        one = _pole(known_facts, pole)
        material = _material(known_facts, one, windows.get(place, ()), strongest.get(place, ()), texts)
        chosen = random.Random(f"{seed} {place}")  # noqa: S311 - not a secret
        words = draw.words(chosen, texts)
        made_up = None if material is None else draw.material(chosen, material, texts)
        answers.append(
            None if material is None or made_up is None else Subject(*place, one, material, made_up, _put(words))
        )
    return answers


def _by_place(rows: Iterable[dict[str, Any]]) -> dict[NeuronPlace, list[dict[str, Any]]]:
    grouped: dict[NeuronPlace, list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault((row["layer"], row["neuron"]), []).append(row)
    return grouped


def _texts(connection: duckdb.DuckDBPyConnection, tokenizer_id: int, ids: Iterable[int]) -> dict[int, str]:
    rows = records(connection, _TEXTS, {"tokenizer_id": tokenizer_id, "ids": sorted(set(ids))})
    return {row["token_id"]: row["text"] for row in rows}


def _pole(facts: Mapping[str, Any], pole: str | None) -> str:
    if pole is not None:
        return pole
    return "negative" if -(facts["activation_min"] or 0.0) > (facts["activation_max"] or 0.0) else "positive"


def _material(
    facts: Mapping[str, Any],
    pole: str,
    windows: Sequence[Mapping[str, Any]],
    strongest: Sequence[Mapping[str, Any]],
    texts: Mapping[int, str],
) -> Material | None:
    """The contexts of a neuron: those that are displayed first, as they are fewest, then what overlaps none of them."""
    sign = -1.0 if pole == "negative" else 1.0
    largest = sign * (facts["activation_min" if pole == "negative" else "activation_max"] or 0.0)
    if largest <= 0:
        return None
    level = _level_of(largest)
    whole = [(row["band"], row["rank"], _window(row, sign, level, texts)) for row in windows]
    peaks = [(band, _around_peak(context)) for band, _, (context, _) in whole if any(context.levels)]
    # Of the strongest windows every second is put to the judge; places without a window are marked at the place alone.
    judged_strongest = [one for band, one in peaks if band == "strongest"][1::2]
    displayed: list[Context] = []
    with_windows = [one for band, one in peaks if band == "strongest"][::2]
    for context in [*with_windows, *(_at_place(row, sign, level, texts) for row in strongest)]:
        is_new = not any(context.overlaps(other) for other in (*displayed, *judged_strongest))
        if any(context.levels) and is_new and len(displayed) < MOST_STRONGEST:
            displayed.append(context)
    sampled = [one for band, one in peaks if band == "quantile"]
    sampled = [one for one in sampled if not any(one.overlaps(other) for other in judged_strongest)]
    thirds = {part: sampled[index * len(sampled) // 3 : (index + 1) * len(sampled) // 3] for index, part in _numbered()}
    active: list[tuple[Part, Context]] = [("strongest", context) for context in judged_strongest]
    for part, contexts in thirds.items():
        n_displayed = _SHOWN_OF_A_THIRD if len(contexts) > 1 else 0
        displayed += [one for one in contexts[:n_displayed] if not any(one.overlaps(other) for other in displayed)]
        active += [(part, one) for one in contexts[n_displayed:] if not any(one.overlaps(other) for other in displayed)]
    used = [*displayed, *(context for _, context in active)]
    inactive: list[Context] = []
    # Random places first: the others are from texts in which it is active elsewhere.
    for _, _, (context, _) in sorted(whole, key=lambda one: (one[0] != "random", one[0] != "quantile")):
        for piece in _pieces(context):
            if len(inactive) < len(active) and not any(piece.overlaps(other) for other in (*used, *inactive)):
                inactive.append(piece)
    promoted = facts["bottom_tokens" if pole == "negative" else "top_tokens"] or []
    return Material(tuple(displayed), tuple(active), tuple(inactive), tuple(promoted[:MOST_TOKENS]))


def _numbered() -> Iterable[tuple[int, Part]]:
    return enumerate(_THIRDS)


def _level_of(largest: float) -> Callable[[float], int]:
    """From a coefficient, its sign turned to the pole, to 0 where the neuron is not active, else 1 to 10."""

    def level(activation: float) -> int:
        share = activation / largest
        return max(1, min(_LEVELS, round(_LEVELS * share))) if share >= ACTIVE else 0

    return level


def _window(
    row: Mapping[str, Any], sign: float, level: Callable[[float], int], texts: Mapping[int, str]
) -> tuple[Context, tuple[float, ...]]:
    integers = iter(row["activations"])
    activations = tuple(
        sign * (next(integers) if row["nonzero"] >> index & 1 else 0) * row["largest"] / _STEPS
        for index in range(len(row["token_ids"]))
    )
    tokens = tuple(texts.get(one, "") for one in row["token_ids"])
    return Context(row["sequence_id"], row["first"], tokens, tuple(map(level, activations))), activations


def _around_peak(window: Context) -> Context:
    """The part of a window around the token at which it is most active."""
    peak = max(range(len(window.levels)), key=lambda index: (window.levels[index], -index))
    return _part(window, max(0, peak - BEFORE), peak + AFTER + 1)


def _pieces(window: Context) -> Iterable[Context]:
    """Parts of a window of the usual length in which it is active nowhere."""
    first, length = 0, min(LENGTH, len(window.tokens))
    while first + length <= len(window.tokens):
        piece = _part(window, first, first + length)
        if piece.marks:
            first += piece.marks[-1] + 1
        else:
            yield piece
            first += length


def _part(window: Context, first: int, end: int) -> Context:
    return Context(window.sequence_id, window.first + first, window.tokens[first:end], window.levels[first:end])


def _at_place(row: Mapping[str, Any], sign: float, level: Callable[[float], int], texts: Mapping[int, str]) -> Context:
    first = max(0, row["position"] - BEFORE)
    tokens = tuple(texts.get(one, "") for one in row["token_ids"])
    levels = [0] * len(tokens)
    levels[row["position"] - first] = level(sign * row["activation"])
    return Context(row["sequence_id"], first, tokens, tuple(levels))


class _Drawing:
    """Random contexts of a corpus: the same for the same seed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, corpus_id: int, seed: int) -> None:
        self._connection, self._corpus_id = connection, corpus_id
        self._random = random.Random(f"{seed} {corpus_id}")  # noqa: S311 - not a secret
        self.slices: list[dict[str, Any]] = []

    def read(self, n_subjects: int) -> None:
        """Draw enough for that many neurons to differ in theirs."""
        rows = records(self._connection, _SEQUENCES, {"corpus_id": self._corpus_id, "least": 3})
        # Where nothing overlaps, none of the judged contexts is among the displayed: places on a grid.
        grid = [
            (row["sequence_id"], first)
            for row in rows
            for first in range(1, max(2, row["n_tokens"] - LENGTH + 1), LENGTH)
        ]
        n_drawn = min(len(grid), max(_FEWEST_DRAWN, n_subjects * _DRAWN_EACH))
        drawn = self._random.sample(grid, n_drawn)
        values = {"sequence_ids": [one for one, _ in drawn], "firsts": [first for _, first in drawn]}
        slices = records(self._connection, _SLICES, {**values, "corpus_id": self._corpus_id, "length": LENGTH})
        self.slices = sorted(slices, key=lambda row: (row["sequence_id"], row["first"]))

    def words(self, chosen: random.Random, texts: Mapping[int, str]) -> list[str]:
        """Three words of the corpus."""
        every = {
            texts.get(one, "").strip()
            for row in chosen.sample(self.slices, min(20, len(self.slices)))
            for one in row["token_ids"]
        }
        words = sorted(word for word in every if word.isalpha())
        return chosen.sample(words, min(3, len(words)))

    def material(self, chosen: random.Random, of: Material, texts: Mapping[int, str]) -> Material | None:
        """As many random contexts as a neuron has, marked where its own are; None where the corpus is too short."""
        n_needed = len(of.displayed) + len(of.active) + len(of.inactive)
        if n_needed > len(self.slices):
            return None
        drawn = iter(chosen.sample(self.slices, n_needed))

        def alike(context: Context) -> Context:
            row = next(drawn)
            tokens = tuple(texts.get(one, "") for one in row["token_ids"])
            levels = (*context.levels, *([0] * len(tokens)))[: len(tokens)]
            if any(context.levels) and not any(levels):
                levels = (*levels[:-1], max(context.levels))
            return Context(row["sequence_id"], row["first"], tokens, levels)

        displayed = tuple(alike(context) for context in of.displayed)
        active = tuple((part, alike(context)) for part, context in of.active)
        inactive = tuple(alike(context) for context in of.inactive)
        tokens = [texts.get(one, "") for row in chosen.sample(self.slices, 1) for one in row["token_ids"]]
        return Material(displayed, active, inactive, tuple(tokens[: len(of.promoted)]))


_FEWEST_DRAWN, _DRAWN_EACH = 200, 40


def _put(words: Sequence[str]) -> str:
    """Random words in the form of an explanation."""
    quoted = [f'"{word}"' for word in words]
    return f"The words {', '.join(quoted[:-1])} and {quoted[-1]}, and words like them." if len(quoted) > 1 else "Words."
