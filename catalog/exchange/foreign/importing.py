"""Somebody else's catalog of a model's neurons enters the warehouse: judged whole, then written in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import duckdb
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.arguments import bad_argument, expanded
from neurothek.catalog.exchange.foreign.forms import About, ForeignExplanation, ForeignNeuron, Form
from neurothek.catalog.exchange.foreign.gluscope import GLUSCOPE
from neurothek.catalog.exchange.foreign.neuronpedia import NEURONPEDIA
from neurothek.catalog.exchange.foreign.openai import OPENAI
from neurothek.catalog.exchange.foreign.stranger import Strange, in_short
from neurothek.catalog.problems import NotFound, Unavailable, Unsupported
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.spelling import one_line
from neurothek.catalog.store.warehouse import Warehouse, first_row
from neurothek.catalog.tables.foreign import (
    FOREIGN,
    FOREIGN_CATALOGS,
    FOREIGN_EXPLANATIONS,
    FOREIGN_NEURONS,
    KINDS,
    MOST_EXPLANATIONS,
    REFUSED,
    ForeignKind,
)
from neurothek.catalog.tables.table import Table

_FORMS: Mapping[ForeignKind, Form] = {"neuronpedia": NEURONPEDIA, "gluscope": GLUSCOPE, "openai": OPENAI}
_DIGITS = 12
"""Of the fingerprint that a catalog is called by."""

_CHUNK = 4_096
"""Rows that are in memory as Python's objects."""


@dataclass(frozen=True)
class ImportedCatalog:
    """Summary of an import of somebody else's catalog.

    Attributes:
        catalog: what it is called here.
        kind: whose form it has.
        model: the model here that it is of.
        their_model: that model, as they name it; None where they do not.
        n_neurons: neurons that it knows.
        n_explanations: explanations that it has.
        n_tokens: tokens in its lists.
        n_matched: those of them that are exactly one token of the model.
        is_new: whether it was written; False: it was there already.
    """

    catalog: str
    kind: str
    model: str
    their_model: str | None
    n_neurons: int
    n_explanations: int
    n_tokens: int
    n_matched: int
    is_new: bool


@dataclass(frozen=True)
class _Model:
    """The model here."""

    model_id: int
    name: str
    weights_sha256: str
    n_layers: int
    d_ffn: int
    tokenizer_id: int


def import_catalog(
    warehouse: Warehouse, place: Path, kind: ForeignKind, *, model: str | None = None, progress: Progress | None = None
) -> ImportedCatalog:
    """Read a folder of somebody else's, and write what it says of a model's neurons; the same folder is taken once.

    Args:
        warehouse: where to; the model is in it.
        place: the folder.
        kind: whose form it has.
        model: name of the model here; None: the one that is called as they call it.
        progress: watches the neurons.
    """
    form = _form_of(kind)
    folder = _folder(place, kind)
    warehouse.require_writable()
    about = form.about(folder)
    with warehouse.current_reader() as connection:
        chosen = _model(connection, folder, about, model)
        tokens = _Tokens.of(connection, chosen.tokenizer_id)
    _require_shape(folder, about, chosen)
    collected = _Collected(folder, chosen, tokens)
    progress = progress or Silent()
    progress.start(f"reading {kind}", chosen.n_layers * chosen.d_ffn)
    for record in form.records(folder, about):
        if collected.take(record):
            progress.advance()
    progress.finish()
    collected.complete()
    if not collected.n_neurons:
        raise folder.invalid("", "there is no neuron in it")
    catalog = f"{kind}-{folder.sha256[:_DIGITS]}"
    row = _catalog_row(catalog, folder, about, chosen, collected.n_neurons)
    frames = {FOREIGN_CATALOGS.name: row} | collected.frames(catalog)
    for table in FOREIGN:
        table.check(frames[table.name])
    is_new = _write(warehouse, catalog, chosen, frames)
    return ImportedCatalog(
        catalog,
        kind,
        chosen.name,
        about.their_model,
        collected.n_neurons,
        frames[FOREIGN_EXPLANATIONS.name].height,
        tokens.n_asked,
        tokens.n_matched,
        is_new,
    )


def _form_of(kind: ForeignKind) -> Form:
    if kind not in KINDS:
        raise bad_argument("kind", kind, f"give one of {', '.join(KINDS)}")
    if kind in REFUSED:
        raise Unsupported(
            f"catalogs of {kind} are not read: {REFUSED[kind]}",
            f"read one of {', '.join(_FORMS)}",
            what="kind",
            name=kind,
        )
    return _FORMS[kind]


def _folder(place: Path, kind: str) -> Strange:
    path = expanded(place).absolute()
    if not path.is_dir():
        what = "is no folder" if path.exists() else "is not there"
        raise Unavailable(
            f"{one_line(str(place))} {what}",
            f"name the folder of a catalog of {kind} on this machine",
            what="folder",
            name=place,
        )
    return Strange(path.resolve(), kind)


def _model(connection: duckdb.DuckDBPyConnection, folder: Strange, about: About, name: str | None) -> _Model:
    """The model of that name, or else the one that is called as they call it, whatever the case of its letters."""
    columns = "model_id, name, weights_sha256, n_layers, d_ffn, tokenizer_id"
    rows = connection.execute(f"select {columns} from store.models order by name").fetchall()
    models = {row[1]: _Model(*row) for row in rows}
    if name is not None:
        if name not in models:
            raise NotFound.among("model", name, models, where="in the warehouse")
        return models[name]
    theirs = about.their_model
    alike = [one for one in models.values() if theirs is not None and one.name.casefold() == theirs.casefold()]
    if len(alike) == 1:
        return alike[0]
    of = (
        f"is of {in_short(theirs)}, and the warehouse has no model of that name"
        if theirs
        else "does not name its model"
    )
    measure = command_line("ingest", "MODEL")
    raise NotFound(
        f"the catalog in {folder.root} {of}",
        f"say which one it is with --model NAME (there {'is' if len(models) == 1 else 'are'}"
        f" {', '.join(models) or 'none'}), or measure it first with `{measure}`",
        what="model",
        name=theirs,
        known=models,
    )


def _require_shape(folder: Strange, about: About, model: _Model) -> None:
    for ours, theirs, what in (
        (model.n_layers, about.n_layers, "layers"),
        (model.d_ffn, about.width, "neurons a layer"),
    ):
        if theirs is not None and theirs != ours:
            raise folder.invalid("", f"its model has {theirs:,} {what}, and {model.name} has {ours:,}")


@dataclass
class _Tokens:
    """Texts of a tokenizer's tokens, as text and as the tokenizer writes them -> id, where exactly one is meant."""

    by_text: Mapping[str, int | None]
    by_piece: Mapping[str, int | None]
    n_asked: int = 0
    n_matched: int = 0

    @staticmethod
    def of(connection: duckdb.DuckDBPyConnection, tokenizer_id: int) -> "_Tokens":
        query = "select text, piece, token_id from store.tokens where tokenizer_id = ? order by token_id"
        by_text: dict[str, int | None] = {}
        by_piece: dict[str, int | None] = {}
        for text, piece, token_id in connection.execute(query, [tokenizer_id]).fetchall():
            by_text[text] = None if text in by_text else token_id
            by_piece[piece] = None if piece in by_piece else token_id
        return _Tokens(by_text, by_piece)

    def ids(self, texts: tuple[str, ...]) -> list[int | None]:
        ids = [self._id(text) for text in texts]
        self.n_asked += len(ids)
        self.n_matched += sum(one is not None for one in ids)
        return ids

    def _id(self, text: str) -> int | None:
        """The only token of that text, or else, where there is none, the only one that the tokenizer writes so."""
        return self.by_text[text] if text in self.by_text else self.by_piece.get(text)


@dataclass
class _Collected:
    """What a catalog says so far, judged: every neuron once, within the model's shape."""

    folder: Strange
    model: _Model
    tokens: _Tokens
    n_neurons: int = 0
    chunks: dict[str, list[pl.DataFrame]] = field(default_factory=lambda: {table.name: [] for table in FOREIGN})
    rows: dict[str, list[tuple[object, ...]]] = field(default_factory=lambda: {table.name: [] for table in FOREIGN})
    orders: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.model.n_layers * self.model.d_ffn
        self.has = bytearray(n)  # whether there is a row of the neuron
        self.n_explained = bytearray(n)  # how many explanations of it there are

    def take(self, record: ForeignNeuron | ForeignExplanation) -> bool:
        """Judge and keep one; whether it is a neuron."""
        place = self._place(record)
        if isinstance(record, ForeignNeuron):
            if self.has[place]:
                raise self.folder.invalid(record.where, f"repeats the neuron L{record.layer}N{record.neuron}")
            self.has[place] = 1
            self.n_neurons += 1
            self._add(FOREIGN_NEURONS, self._neuron_row(record))
            return True
        self.n_explained[place] += 1
        number = self.n_explained[place]
        if number > MOST_EXPLANATIONS:
            raise self.folder.invalid(
                record.where, f"has more than {MOST_EXPLANATIONS} explanations of L{record.layer}N{record.neuron}"
            )
        words = (record.explainer, record.method, record.score, record.score_name, record.text)
        self._add(FOREIGN_EXPLANATIONS, (self.model.model_id, record.layer, record.neuron, number, *words))
        return False

    def complete(self) -> None:
        """A row for every neuron of which there are explanations alone."""
        for place, n in enumerate(self.n_explained):
            if n and not self.has[place]:
                layer, neuron = divmod(place, self.model.d_ffn)
                self.take(ForeignNeuron("", layer, neuron))

    def frames(self, catalog: str) -> dict[str, pl.DataFrame]:
        """Rows of neurons and explanations, by layer and neuron."""
        frames = {}
        for table in (FOREIGN_NEURONS, FOREIGN_EXPLANATIONS):
            self._pack(table)
            columns = _without_catalog(table)
            rows = pl.concat([pl.DataFrame(schema=columns), *self.chunks[table.name]])
            named = rows.select(pl.lit(catalog).alias("catalog"), pl.all())
            frames[table.name] = named.sort("layer", "neuron", maintain_order=True)
        return frames

    def _place(self, record: ForeignNeuron | ForeignExplanation) -> int:
        layer, neuron, model = record.layer, record.neuron, self.model
        if layer >= model.n_layers or neuron >= model.d_ffn:
            shape = f"{model.n_layers:,} layers of {model.d_ffn:,} neurons"
            raise self.folder.invalid(record.where, f"is of L{layer}N{neuron}, and {model.name} has {shape}")
        return layer * model.d_ffn + neuron

    def _neuron_row(self, record: ForeignNeuron) -> tuple[object, ...]:
        if record.frequency is not None and not 0 <= record.frequency <= 1 + 1e-6:
            raise self.folder.invalid(record.where, f"has the frequency {record.frequency:g}, which is no share")
        return (
            self.model.model_id,
            record.layer,
            record.neuron,
            None if record.frequency is None else min(record.frequency, 1.0),
            record.max_activation,
            list(record.promoted),
            self.tokens.ids(record.promoted),
            list(record.suppressed),
            self.tokens.ids(record.suppressed),
            self._other(record.layer, record.neuron),
        )

    def _other(self, layer: int, neuron: int) -> int | None:
        if layer not in self.orders:
            self.orders[layer] = shuffled(layer, self.model.d_ffn)
        other = self.orders[layer][neuron]
        return None if other == neuron else other

    def _add(self, table: Table, row: tuple[object, ...]) -> None:
        self.rows[table.name].append(row)
        if len(self.rows[table.name]) >= _CHUNK:
            self._pack(table)

    def _pack(self, table: Table) -> None:
        rows = pl.DataFrame(self.rows[table.name], schema=_without_catalog(table), orient="row")
        self.chunks[table.name].append(rows)
        self.rows[table.name] = []


def shuffled(layer: int, width: int) -> list[int]:
    """For each neuron of a layer another one: all stand in one circle, whose order the number of the layer seeds."""
    circle = list(range(width))
    Random(layer).shuffle(circle)  # noqa: S311 - a control, no secret
    others = [0] * width
    for place, neuron in enumerate(circle):
        others[neuron] = circle[(place + 1) % width]
    return others


def _without_catalog(table: Table) -> dict[str, pl.DataType]:
    return {name: dtype for name, dtype in table.schema.items() if name != "catalog"}


def _catalog_row(catalog: str, folder: Strange, about: About, model: _Model, n_neurons: int) -> pl.DataFrame:
    row = {
        "catalog": catalog,
        "model_id": model.model_id,
        "kind": folder.kind,
        "their_model": about.their_model,
        "source": str(folder.root),
        "version": about.version,
        "method": about.method,
        "n_tokens": about.n_tokens,
        "active_when": about.active_when,
        "positions": about.positions,
        "n_neurons": n_neurons,
        "sha256": folder.sha256,
        "imported_at": datetime.now(UTC).replace(tzinfo=None),
    }
    return pl.DataFrame([row], schema=FOREIGN_CATALOGS.schema)


def _write(warehouse: Warehouse, catalog: str, model: _Model, frames: Mapping[str, pl.DataFrame]) -> bool:
    """All of it or nothing; whether it was not there yet."""
    with warehouse.transaction() as connection:
        query = "select 1 from store.models where model_id = ? and name = ? and weights_sha256 = ?"
        if first_row(connection, query, [model.model_id, model.name, model.weights_sha256]) is None:
            raise NotFound(
                f"the model {model.name} went away while the catalog was read",
                "repeat the command",
                what="model",
                name=model.name,
            )
        query = "select 1 from store.foreign_catalogs where model_id = ? and catalog = ?"
        if first_row(connection, query, [model.model_id, catalog]):
            return False
        for name, frame in frames.items():
            connection.register("handed_over", frame.to_arrow())
            try:
                connection.execute(f"insert into store.{name} by name select * from handed_over")
            finally:
                connection.unregister("handed_over")
    return True
