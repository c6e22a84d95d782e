"""The published numbers: what was measured, on which model, where it stands, and how near counts as the same."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from neurothek.catalog.problems import NotFound
from neurothek.catalog.suggestions import hint

ENTRIES = Path(__file__).with_name("entries.toml")


@dataclass(frozen=True)
class TextLoss:
    """Mean cross-entropy, in nats, of the ids of a text after a first one."""

    kind: ClassVar = "text loss"
    text: str  # the text
    bos: str  # piece that is put in front of it, whether the model's own tokenizer does that or not


@dataclass(frozen=True)
class ValueToken:
    """Probability of the first token of softmax(E LN(v)), v a value vector and LN the final norm with its bias."""

    kind: ClassVar = "value token"
    layer: int  # its layer
    neuron: int  # its place in the layer
    token: str  # the first token
    then: tuple[tuple[str, float], ...] = ()  # the tokens that follow it, each with its probability


@dataclass(frozen=True)
class WeightNorm:
    """Norm of a neuron's weights as layer norms let them read or write: their component along (1, ..., 1) taken off."""

    kind: ClassVar = "weight norm"
    layer: int  # its layer
    neuron: int  # its place in the layer
    side: Literal["in", "out"]  # `in`, its key with the gain of the FFN's norm folded in, or `out`, its value vector


@dataclass(frozen=True)
class WeightCosine:
    """Cosine of the two vectors of a neuron whose norms `WeightNorm` measures: what it reads and what it writes."""

    kind: ClassVar = "weight cosine"
    layer: int
    neuron: int


@dataclass(frozen=True)
class CosineMoment:
    """A moment, over the rows of the unembedding, of their cosines with a neuron's value vector.

    Rows as the final norm lets them read: its gain folded in, their component along (1, ..., 1) taken off, and then the
    mean of all rows. The value vector without its component along (1, ..., 1). Rows without a token count too.
    """

    kind: ClassVar = "cosine moment"
    layer: int  # its layer
    neuron: int  # its place in the layer
    # which one; skewness and kurtosis are standardized, and the kurtosis of a normal distribution is 3
    moment: Literal["mean", "variance", "skewness", "kurtosis"]


@dataclass(frozen=True)
class WindowPerplexity:
    """`window_perplexity` of a model, without BOS, in windows as long as its context ([G] 6.1)."""

    kind: ClassVar = "window perplexity"
    text: str  # rows of a dataset of the hub, joined by empty lines; or a file of text
    # those that are set to `value` before the non-linearity, at every position, as L13N1852; none: the model is
    # untouched
    neurons: tuple[str, ...] = ()
    value: float = 0.0  # what they are set to

    @property
    def places(self) -> Mapping[int, list[int]]:
        """Layer -> the neurons there that are set."""
        places: dict[int, list[int]] = {}
        for neuron in self.neurons:
            layer, _, number = neuron.removeprefix("L").partition("N")
            places.setdefault(int(layer), []).append(int(number))
        return places


@dataclass(frozen=True)
class TokenCount:
    """How many ids the tokenizer makes of a text, without BOS."""

    kind: ClassVar = "token count"
    text: str  # as that of `WindowPerplexity`


Measurement = TextLoss | ValueToken | WeightNorm | WeightCosine | CosineMoment | WindowPerplexity | TokenCount

_KINDS: Mapping[str, type[Measurement]] = {kind.kind: kind for kind in get_args(Measurement)}


@dataclass(frozen=True)
class Published:
    """One published number."""

    name: str  # what it is asked for by
    model: str  # a hub id, or a folder
    aliases: tuple[str, ...]  # other ids of the same repository, under which a cache may hold it
    measurement: Measurement  # what was measured
    published: float  # the number
    tolerance: float  # how far from it a measured one may be
    source: str  # where it stands
    note: str  # what a reader must know to judge it; empty where there is nothing
    is_pickled: bool = False  # whether the repository holds its weights as pickles only


def read_entries(path: Path = ENTRIES) -> list[Published]:
    """The entries of a file, in its order: in `source` tables, each with its `entry` tables.

    A source's settings hold for its entries unless these have their own.
    """
    entries = []
    for source in tomllib.loads(path.read_text("utf-8"))["source"]:
        tables = source.pop("entry")
        entries += [_entry({**source, **settings}) for settings in tables]
    return entries


def _entry(settings: dict[str, Any]) -> Published:
    kind = _KINDS[settings.pop("kind")]
    common = {name: settings.pop(name) for name in ("name", "model", "published", "tolerance", "source")}
    aliases, note = tuple(settings.pop("aliases", ())), settings.pop("note", "")
    is_pickled = settings.pop("is_pickled", False)
    frozen: dict[str, Any] = {name: _frozen(value) for name, value in settings.items()}
    measurement = kind(**frozen)
    return Published(
        **common, aliases=aliases, note=" ".join(note.split()), measurement=measurement, is_pickled=is_pickled
    )


def _frozen(value: object) -> object:
    """Tuples for the lists of a file."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def asked_entries(names: Sequence[str], entries: Sequence[Published]) -> list[Published]:
    """Those that are asked for, by name or by model, in their own order; all where no name is given."""
    for name in names:
        if not any(name in _names(entry) for entry in entries):
            existing = [entry.name for entry in entries]
            message = f"there is no published number named {name!r}"
            raise NotFound(message, hint(name, existing), what="published number", name=name, known=existing)
    return [entry for entry in entries if not names or _names(entry) & set(names)]


def _names(entry: Published) -> set[str]:
    return {entry.name, entry.model, *entry.aliases}
