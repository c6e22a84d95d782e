"""What a search asks for: checked when it is put together, so that a slip is one sentence and not an empty answer."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypedDict, Unpack, get_args, get_type_hints

from neurothek.catalog.arguments import bad_argument, fits, plain, require, unknown_argument
from neurothek.catalog.spelling import one_line, unmark, visible
from neurothek.queries.errors.unfit_options import concept_needed, conditions_beside, invalid_depths, invalid_layers
from neurothek.queries.names.words import BYTES, TokenClass

Side = Literal["promoted", "suppressed", "both"]
SIDES: tuple[Side, ...] = get_args(Side)

_RANGES = {"min_count": (0, 10**18), "limit": (1, 10**9), "neighbours": (0, 10**6)}
_MOST_LAYERS = 10**9
_MOST_DIGITS = 20
_SCRIPT = re.compile(r"[A-Za-z]+(_[A-Za-z]+)*")
_MOST_CHARACTERS = 1_000
"""Of a word or phrase that is searched for: no token is as long."""

NEURON_FLAGS: Mapping[str, str] = {"alive": "coalesce(not is_dead, effective_frequency > 0)"}
"""Options that keep some neurons: a field of `Question` -> its condition over the columns of the view `neurons`."""


class Conditions(TypedDict, total=False):
    """What a call from Python may ask of a search: the fields of `Question`, and what the command line calls them."""

    side: Side
    suppresses: str | Sequence[str]
    concept: bool
    neighbours: int
    left_out: str | Sequence[str]
    leave_out: str | Sequence[str]
    triggered_by: str | Sequence[str]
    reads: bool
    models: str | Sequence[str]
    model: str | Sequence[str]
    variants: bool
    layers: int | str | tuple[int, int] | None
    layer: int | str | tuple[int, int] | None
    depth: str | tuple[float, float] | None
    match_all: bool
    all: bool
    exact: bool
    without: str | Sequence[str]
    where: str | None
    min_count: int
    alive: bool
    corpus: str | None
    script: str | Sequence[str]
    scripts: str | Sequence[str]
    pattern: str | Sequence[str]
    patterns: str | Sequence[str]
    bytes: bool
    limit: int


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is searched for.

    Attributes:
        words: words, groups of words of which any will do ("he,him,his"), or exact tokens if `exact`.
        side: whether the neurons promote or suppress them.
        suppresses: words that the neurons must suppress at the same time, every one of them.
        concept: widen the words with their nearest tokens in each model's unembedding.
        neighbours: how many words to add to each word of a concept.
        left_out: words that a concept is not widened with, near as they are.
        triggered_by: words or short phrases that the neurons must fire on: one of them at least.
        reads: ask for neurons whose keys read the words, instead of those that promote them.
        models: names of models; none: the plain sizes.
        variants: ask variants (other seeds, steps of training, architectures) like plain sizes, where none is named.
        layers: first and last layer.
        depth: first and last depth, from 0 to 1.
        match_all: keep only neurons that list every word, and fire on everything in `triggered_by`.
        exact: take the words as exact texts of tokens.
        without: words that the neurons must not list on that side.
        where: a condition over the columns of the view `neurons`.
        min_count: tokens seen less often in the model's shown corpus do not count.
        alive: keep only neurons that fired on the shown corpus.
        corpus: name of the corpus to tell of instead of the shown one.
        scripts: names of scripts of Unicode, such as Han: any token with a character of one stands for it.
        patterns: regular expressions (RE2): any token whose text matches one stands for it.
        bytes: any token that is a piece of a character's bytes.
        limit: how many neurons to return.
    """

    words: tuple[str, ...]
    side: Side = "promoted"
    suppresses: tuple[str, ...] = ()
    concept: bool = False
    neighbours: int = 5
    left_out: tuple[str, ...] = ()
    triggered_by: tuple[str, ...] = ()
    reads: bool = False
    models: tuple[str, ...] = ()
    variants: bool = False
    layers: tuple[int, int] | None = None
    depth: tuple[float, float] | None = None
    match_all: bool = False
    exact: bool = False
    without: tuple[str, ...] = ()
    where: str | None = None
    min_count: int = 0
    alive: bool = False
    corpus: str | None = None
    scripts: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    bytes: bool = False
    limit: int = 20

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        for name, kind in get_type_hints(Question).items():
            value = getattr(self, name)
            require(kind, **{name: value})
            is_row = isinstance(value, Sequence | set | frozenset) and not isinstance(value, str)
            object.__setattr__(self, name, plain(tuple(value) if is_row else value))
            if kind == tuple[str, ...] and any(len(one) > _MOST_CHARACTERS for one in value):
                raise bad_argument(name, value, f"give texts of at most {_MOST_CHARACTERS:,} characters")
        for name, (least, most) in _RANGES.items():
            if not least <= getattr(self, name) <= most:
                raise bad_argument(name, getattr(self, name), f"give a whole number from {least} to {most}")
        if self.layers is not None and not 0 <= self.layers[0] <= self.layers[1] <= _MOST_LAYERS:
            raise bad_argument("layers", self.layers, "give the first and the last layer, such as layers=(3, 5)")
        if self.depth is not None and not 0 <= self.depth[0] <= self.depth[1] <= 1:
            raise bad_argument("depth", self.depth, "give the first and the last depth, such as depth=(0.5, 1.0)")
        if self.suppresses and self.side != "promoted":
            raise bad_argument("side", self.side, why="with words to suppress, the other words must be promoted")
        for script in self.scripts:
            if not _SCRIPT.fullmatch(script):
                raise bad_argument("script", script, "give a script of Unicode by its name, such as Han or Cyrillic")
        self._check_concept()

    @property
    def is_filtered(self) -> bool:
        """Whether something is asked of the neurons' own facts."""
        return self.where is not None or bool(self.flags)

    @property
    def flags(self) -> list[str]:
        """Those of `NEURON_FLAGS` that are set."""
        return [name for name in NEURON_FLAGS if getattr(self, name)]

    def without_conditions(self) -> "Question":
        """The same without what is asked of the neurons' own facts."""
        nothing: dict[str, Any] = dict.fromkeys(NEURON_FLAGS, False)
        return replace(self, where=None, **nothing)

    @property
    def hangs_on_text(self) -> bool:
        """Whether another corpus may have other answers."""
        return self.is_filtered or bool(self.triggered_by or self.min_count or self.corpus)

    def given(self, *, beside: Collection[str]) -> list[str]:
        """Names of the other fields that are not as they are when nothing is asked of them."""
        nothing = type(self)(words=())
        others = [one.name for one in fields(self) if one.name not in beside]
        return [name for name in others if getattr(self, name) != getattr(nothing, name)]

    def require_only(self, kind: str, *honoured: str) -> None:
        """Refuse conditions that an answer would pass over in silence.

        Args:
            kind: what is asked for, as a sentence names it.
            honoured: names of the fields that the answer follows; with `where` come all of `NEURON_FLAGS`.
        """
        if "where" in honoured:
            place = honoured.index("where") + 1
            honoured = (*honoured[:place], *NEURON_FLAGS, *honoured[place:])
        given = self.given(beside=honoured)
        if given:
            raise conditions_beside([_called(name) for name in given], kind, [_called(name) for name in honoured])

    @property
    def classes(self) -> tuple[TokenClass, ...]:
        """The classes of tokens that are asked for beside words."""
        scripts = [TokenClass("script", name, rf"\p{{{name}}}") for name in self.scripts]
        patterns = [TokenClass("pattern", text, text) for text in self.patterns]
        return (*scripts, *patterns, *((BYTES,) if self.bytes else ()))

    @property
    def is_about_tokens(self) -> bool:
        """Whether words or classes of tokens are asked for."""
        return bool(self.words or self.classes)

    @property
    def all_words(self) -> tuple[str, ...]:
        """The words, and what the classes of tokens are called."""
        return (*self.words, *(one.name for one in self.classes))

    def display(self, words: Sequence[str], *, all_of: bool | None = None) -> str:
        """Words on one line; the white space of exact tokens is marked, that around others left out.

        Args:
            words: some of the question.
            all_of: whether all of them are asked for, or any; None: as `match_all` says.
        """
        # White space that was marked, as a table marks it, stands for itself.
        marked = [self.exact or unmark(word) != word for word in words]
        *others, last = [
            visible(unmark(word)) if is_marked else one_line(word).strip() or visible(word)
            for word, is_marked in zip(words, marked, strict=True)
        ]
        between = " and " if (self.match_all if all_of is None else all_of) else " or "
        return f"{', '.join(others)}{between}{last}" if others else last

    def _check_concept(self) -> None:
        if self.concept:
            return
        given = [name for name in ("neighbours", "left_out") if getattr(self, name) != getattr(Question, name)]
        if given:
            raise concept_needed([_called(name) for name in given])


def put_together(words: Sequence[str], /, **conditions: Unpack[Conditions]) -> Question:
    """A question in the words of a call from Python."""
    given: dict[str, Any] = {}
    for name, value in conditions.items():
        field = _FIELDS.get(name, name)
        if field == "words" or field not in get_type_hints(Question):
            raise unknown_argument("search", name, get_type_hints(Conditions))
        if field in given:
            raise bad_argument(name, value, "give one of the two", why=f"{field} is given, too")
        given[field] = _READ[field](value) if field in _READ else value
    return Question(words=tuple(words), **given)


def _names(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _layers(value: object) -> object:
    return (value, value) if fits(value, int) else parse_layers(value) if isinstance(value, str) else value


_FIELDS = {
    "script": "scripts",
    "pattern": "patterns",
    "model": "models",
    "layer": "layers",
    "all": "match_all",
    "leave_out": "left_out",
}
"""What the command line calls a field: an option -> the field."""

_READ: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(("suppresses", "left_out", "triggered_by", "models", "without", "scripts", "patterns"), _names),
    "layers": _layers,
    "depth": lambda value: parse_depth(value) if isinstance(value, str) else value,
}
"""How what people write for a field becomes its value."""


def _called(field: str) -> str:
    """What the command line calls a field."""
    names = {name: option for option, name in _FIELDS.items()}
    return names.get(field, field).replace("_", "-")


def parse_layers(text: str) -> tuple[int, int]:
    """`3` or `3-5` as the first and the last layer."""
    first, _, last = text.replace(" ", "").partition("-")
    last = last or first
    is_range = first.isdecimal() and last.isdecimal() and max(len(first), len(last)) < _MOST_DIGITS
    if not is_range or int(first) > int(last) or text.endswith("-"):
        raise invalid_layers(text)
    return int(first), int(last)


def parse_depth(text: str) -> tuple[float, float]:
    """`0.5-1` as the first and the last depth."""
    try:
        first, last = (float(part) for part in text.replace(" ", "").split("-"))
    except ValueError as error:
        raise invalid_depths(text) from error
    if not 0 <= first <= last <= 1:
        raise invalid_depths(text)
    return first, last
