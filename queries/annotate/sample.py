"""The vectors that people annotate, mixed with controls in an order that reveals nothing, and glosses of tokens."""

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, groupby, islice
from pathlib import Path

import duckdb
import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.catalog.tables.annotations import CONCEPT_CLASSES, N_SHOWN, Condition
from neurothek.catalog.tables.table import IDS, TEXT
from neurothek.queries.annotate.errors import no_controls, unreadable_glosses
from neurothek.queries.ask.statements import ask_records, records
from neurothek.queries.names.models import KnownModel, choose_model

_JUDGED_VECTORS = """\
-- The vectors of one model that one annotator has judged.
select distinct condition, layer, coalesce(neuron, control_id) as number, shown_token_ids as token_ids
from store.annotations
where model_id = $model_id and annotator = $annotator
"""

_CONTROL_KEYS = """\
-- The control vectors of one model.
select kind as condition, layer, control_id as number
from store.controls
where model_id = $model_id
order by kind, layer, control_id
"""

HEADER = ("token", "gloss")
"""First line of a file, which may be left out."""


@dataclass(frozen=True)
class Glosses:
    """What tokens mean."""

    # glosses by the texts of tokens without surrounding white space; several of one token are joined
    by_text: Mapping[str, str]

    def of(self, token: str) -> str | None:
        """The gloss of a token by its exact text; None where the file has none."""
        return self.by_text.get(token.strip())


def read_glosses(path: Path) -> Glosses:
    """The glosses of a file: a token and its gloss on each line, parted by a tab, a comma or a semicolon."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise unreadable_glosses(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise unreadable_glosses(path, "it is not in UTF-8") from error
    first, _, _ = text.partition("\n")
    separator = next((one for one in "\t,;" if one in first), "\t")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise unreadable_glosses(path, f"it is neither TSV nor CSV ({error})") from error
    glosses: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and tuple(cells) == HEADER):
            continue
        if len(cells) != len(HEADER) or not all(cells):
            raise unreadable_glosses(path, f"line {number} is not a token and its gloss")
        glosses.setdefault(cells[0], []).append(cells[1])
    if not glosses:
        raise unreadable_glosses(path, "it is empty")
    return Glosses({token: "; ".join(dict.fromkeys(meanings)) for token, meanings in glosses.items()})


PER_LAYER = 10
"""Vectors of each condition and layer that people judge ([G] 4): of controls the first."""

_HANDLE = re.compile(r"(?P<seed>\d{1,9})-[0-9a-f]{12}")

Key = tuple[Condition, int, int]
"""Condition, layer, and number of the neuron or control within them."""


@dataclass(frozen=True)
class Vector:
    """A vector as an annotator sees it, and what it is."""

    handle: str  # a name that does not tell what it is; it changes when the vector's highest tokens do
    key: Key  # what it is
    token_ids: tuple[int, ...]  # its highest tokens, best first
    tokens: tuple[str, ...]  # their exact texts


@dataclass(frozen=True)
class Sample:
    """What is drawn of one model by one seed; the same for everybody, in the same order."""

    model: KnownModel  # the model
    seed: int  # of the draw
    vectors: tuple[Vector, ...]  # in the order in which they are judged

    @cached_property
    def by_handle(self) -> Mapping[str, Vector]:
        """The vectors by their handles."""
        return {vector.handle: vector for vector in self.vectors}

    def frame(self, glosses: Glosses | None = None) -> pl.DataFrame:
        """One row per vector: model, vector, token_ids, tokens; with glosses also these, null where there is none."""
        frame = pl.DataFrame(
            {
                "model": [self.model.name] * len(self.vectors),
                "vector": [vector.handle for vector in self.vectors],
                "token_ids": [list(vector.token_ids) for vector in self.vectors],
                "tokens": [list(vector.tokens) for vector in self.vectors],
            },
            schema={"model": TEXT, "vector": TEXT, "token_ids": IDS, "tokens": pl.List(TEXT)},
        )
        if glosses is None:
            return frame
        glosses_of = [list(map(glosses.of, vector.tokens)) for vector in self.vectors]
        return frame.with_columns(pl.Series(GLOSSES, glosses_of, pl.List(TEXT)))

    def sheet(self, annotator: str | None = None, glosses: Glosses | None = None) -> pl.DataFrame:
        """One row per vector to be filled in: concept, class and ranks are empty, every token has a cell with its rank.

        A token stands behind its rank, as a cell that began with = or + would be a formula to a spreadsheet; so does a
        gloss, in a column of all glosses of the vector.
        """
        n_shown = max((len(vector.tokens) for vector in self.vectors), default=0)
        empty = [None] * len(self.vectors)
        columns: dict[str, Sequence[str | None]] = {
            "model": [self.model.name] * len(self.vectors),
            "vector": [vector.handle for vector in self.vectors],
            "annotator": [annotator] * len(self.vectors),
            **dict.fromkeys(("concept", "class", "ranks"), empty),
            **({} if glosses is None else {GLOSSES: [_glossed(vector, glosses) for vector in self.vectors]}),
            **{str(rank): [_cell(vector, rank) for vector in self.vectors] for rank in range(1, n_shown + 1)},
        }
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, TEXT))


GLOSSES = "glosses"
"""Column of a sample that tells annotators what tokens mean; nobody fills it in."""

NO_CONCEPT = "none"
"""What stands as class in a sheet where a vector has no concept: an empty row is one not judged yet."""

CLASSES_OF_A_SHEET = (*CONCEPT_CLASSES, NO_CONCEPT)


def seed_of(handle: str) -> int | None:
    """The seed of the sample that a handle is of; None where it is not a handle."""
    handle_parts = _HANDLE.fullmatch(handle)
    return None if handle_parts is None else int(handle_parts["seed"])


def draw_sample(connection: duckdb.DuckDBPyConnection, model: str, *, seed: int = 0) -> Sample:
    """Ten neurons per layer, mixed with as many random vectors and FFN updates, shuffled ([G] 4)."""
    model_row = choose_model(connection, model)
    controls = control_keys(connection, model_row)
    lists = tokens_shown(connection, model_row, [*_neurons(model_row, seed), *_first(controls)])
    if not controls or all(key[0] != "value" for key in lists):
        raise no_controls(model)
    vectors = [Vector(_handle(seed, key, ids), key, ids, tokens) for key, (ids, tokens) in lists.items()]
    # Handles are drawn at random: their order is the shuffle.
    return Sample(model_row, seed, tuple(sorted(vectors, key=lambda vector: vector.handle)))


def control_keys(connection: duckdb.DuckDBPyConnection, model: KnownModel) -> list[Key]:
    """All random vectors and FFN updates of a model, by condition, layer and number."""
    return [_key(row) for row in records(connection, _CONTROL_KEYS, {"model_id": model.model_id})]


def judged(connection: duckdb.DuckDBPyConnection, sample: Sample, annotator: str) -> frozenset[str]:
    """Handles of the sample's vectors that an annotator has judged, as they are now."""
    parameters = {"model_id": sample.model.model_id, "annotator": annotator}
    rows = records(connection, _JUDGED_VECTORS, parameters)
    existing = {(_key(row), tuple(row["token_ids"])) for row in rows}
    return frozenset(vector.handle for vector in sample.vectors if (vector.key, vector.token_ids) in existing)


def unjudged(connection: duckdb.DuckDBPyConnection, sample: Sample, annotator: str) -> Sample:
    """What an annotator still has to judge."""
    done = judged(connection, sample, annotator)
    return replace(sample, vectors=tuple(vector for vector in sample.vectors if vector.handle not in done))


TokenList = tuple[tuple[int, ...], tuple[str, ...]]
"""Ids and exact texts of tokens."""


def tokens_shown(connection: duckdb.DuckDBPyConnection, model: KnownModel, keys: Iterable[Key]) -> dict[Key, TokenList]:
    """The highest tokens of vectors that have a list."""
    unique = list(dict.fromkeys(keys))
    parameters = {
        "model_id": model.model_id,
        "n_shown": N_SHOWN,
        "conditions": [condition for condition, _, _ in unique],
        "layers": [layer for _, layer, _ in unique],
        "numbers": [number for _, _, number in unique],
    }
    rows = ask_records(connection, "shown_tokens", parameters)
    return {_key(row): (tuple(row["token_ids"]), tuple(row["tokens"])) for row in rows}


def _neurons(model: KnownModel, seed: int) -> list[Key]:
    """Drawn by a counter, so that no library's generator can change what a handle stands for."""
    n = min(PER_LAYER, model.d_ffn)
    keys: list[Key] = []
    for layer in range(model.n_layers):
        drawn: dict[int, None] = {}
        for number in count():
            if len(drawn) == n:
                break
            drawn[int(digest(f"{seed} {layer} {number}")[:15], 16) % model.d_ffn] = None
        keys += [("value", layer, neuron) for neuron in drawn]
    return keys


def _first(controls: Iterable[Key]) -> list[Key]:
    return [key for _, keys in groupby(controls, key=lambda key: key[:2]) for key in islice(keys, PER_LAYER)]


def _handle(seed: int, key: Key, token_ids: tuple[int, ...]) -> str:
    return f"{seed}-{digest(f'{seed} {key} {token_ids}')[:12]}"


def digest(text: str) -> str:
    """What draws by lot: the same in every release and on every machine."""
    return hashlib.sha256(text.encode()).hexdigest()


def _key(row: Mapping[str, object]) -> Key:
    condition, layer, number = row["condition"], row["layer"], row["number"]
    return condition, layer, number  # type: ignore[return-value]  # as the statements' columns are


def _cell(vector: Vector, rank: int) -> str | None:
    return f"{rank} {visible(vector.tokens[rank - 1])}" if rank <= len(vector.tokens) else None


def _glossed(vector: Vector, glosses: Glosses) -> str | None:
    ranked = ((rank, glosses.of(token)) for rank, token in enumerate(vector.tokens, start=1))
    return ", ".join(f"{rank} {gloss}" for rank, gloss in ranked if gloss is not None) or None
