"""The models, corpora and neurons that a question is about, looked up by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotFound
from neurothek.catalog.spelling import visible
from neurothek.catalog.variants import variant_of_sizes, variant_order
from neurothek.queries.ask.statements import ask_records, records
from neurothek.queries.errors.unknown_subjects import invalid_address, no_models, unknown_corpus, unknown_neuron

_MEASURED_CORPORA = """\
-- The corpora that models were measured on, in no order.
select model, corpus, corpus_id, is_shown, n_tokens, sequence_length, activation_rule,
from measured_corpora
where list_contains($models::varchar[], model)
"""

SIZE = "size w/o embeddings"
"""What tables for people call the column `size`."""


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """A model of the warehouse."""

    model_id: int  # its number in the file
    name: str  # its name
    family: str  # models of one family differ in size or variant only
    variant: str | None  # None for a plain size; else what sets the model apart
    size: int  # parameters without embeddings
    n_layers: int  # number of blocks
    d_ffn: int  # feed-forward neurons per layer
    d_model: int  # width of the residual stream
    tokenizer_id: int  # its tokenizer
    architecture: str  # its family of transformers
    is_signed: bool  # whether a coefficient may have either sign (gated), which then says which list the neuron writes
    has_exact_zeros: bool  # whether its non-linearity gives exact zeros, so that a neuron can be dead
    is_measured_on_text: bool  # whether any text was run through it
    source: str  # where its weights came from: a folder, the name of a shipped model, or a hub id
    revision: str | None  # the hub's commit, if they came from there
    weights_sha256: str  # what they are known by
    tokenizer_from_file: bool = False  # whether its tokenizer.json was taken as it is
    configured: str = ""  # what is known of its config.json, as JSON
    built: str = ""  # where its norms stand and how it knows positions, which training leaves alone


def choose_models(connection: duckdb.DuckDBPyConnection, names: Sequence[str] = ()) -> list[KnownModel]:
    """The models called `names`, or all, smallest first."""
    models = [KnownModel(**row) for row in ask_records(connection, "models")]
    # DuckDB takes longer to put a handful in order.
    by_name = {model.name: model for model in sorted(models, key=_by_size)}
    if not by_name:
        raise no_models()
    for name in names:
        if name not in by_name:
            raise NotFound.among("model", name, by_name, where="in the warehouse")
    return [model for name, model in by_name.items() if not names or name in names]


def sizes_of(models: Sequence[KnownModel]) -> list[KnownModel]:
    """Those that are sizes of their families, in their order: plain ones; without any the commonest quantization."""
    variants: dict[str, list[str | None]] = {}
    for model in models:
        variants.setdefault(model.family, []).append(model.variant)
    return [model for model in models if model.variant == variant_of_sizes(variants[model.family])]


def models_alike(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Names of the other models with the tokenizer of the model `name`, smallest first."""
    model_named = choose_model(connection, name)
    models = choose_models(connection)
    return [model.name for model in models if model.tokenizer_id == model_named.tokenizer_id and model.name != name]


def choose_model(connection: duckdb.DuckDBPyConnection, name: str) -> KnownModel:
    """The model called `name`."""
    (model,) = choose_models(connection, [name])
    return model


def _by_size(model: KnownModel) -> tuple[int, tuple[bool, str, int], str]:
    """Plain models before their variants, steps in the order of training."""
    return (model.size, variant_order(model.variant), model.name)


_ADDRESS = re.compile(r"(?P<model>[A-Za-z0-9._@+-]+)/[Ll](?P<layer>\d{1,5})[Nn](?P<neuron>\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class NeuronAddress:
    """A neuron that exists in the warehouse."""

    of: KnownModel  # its model
    layer: int  # its layer
    neuron: int  # its place in the layer

    @property
    def model_id(self) -> int:
        """Number of its model in the file."""
        return self.of.model_id

    @property
    def model(self) -> str:
        """Name of its model."""
        return self.of.name

    def __str__(self) -> str:
        """The address as people write it."""
        return f"{self.model}/L{self.layer}N{self.neuron}"


def is_address(text: str) -> bool:
    """Whether a text is written as an address, of whatever model."""
    return _ADDRESS.fullmatch(text.strip()) is not None


def find_neuron(
    connection: duckdb.DuckDBPyConnection, address: str, models: Sequence[KnownModel] = ()
) -> NeuronAddress:
    """The neuron at an address.

    Args:
        connection: a reader.
        address: what a person typed.
        models: the models that there are, where somebody asked for them before.
    """
    address_parts = _ADDRESS.fullmatch(address.strip())
    if address_parts is None:
        raise invalid_address(address)
    named = [model for model in models if model.name == address_parts["model"]]
    model = named[0] if named else choose_model(connection, address_parts["model"])
    layer, neuron = int(address_parts["layer"]), int(address_parts["neuron"])
    if layer >= model.n_layers or neuron >= model.d_ffn:
        raise unknown_neuron(address, model.n_layers, model.d_ffn)
    return NeuronAddress(model, layer, neuron)


@dataclass(frozen=True)
class MeasuredCorpus:
    """A corpus that a model was measured on: its row of the view `measured_corpora`."""

    model: str
    corpus: str
    corpus_id: int
    is_shown: bool
    n_tokens: int
    sequence_length: int
    activation_rule: str | None


def folder_name(corpus: str) -> str:
    """A corpus's name as that of a folder: a file from elsewhere may hold one that leads out of it."""
    plain = re.sub(r"[^A-Za-z0-9._@+-]", "_", corpus)
    return re.sub(r"^[.-]", "_", plain) or "_"


def measured_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[MeasuredCorpus]:
    """All corpora that the models were measured on, each model's shown one first, then those that would be shown."""
    rows = [MeasuredCorpus(**row) for row in records(connection, _MEASURED_CORPORA, {"models": list(models)})]
    return sorted(rows, key=_order)


def _order(one: MeasuredCorpus) -> tuple[str, bool, bool, int, int]:
    """As a model's shown corpus is chosen: those with activity first, which alone have a rule for it."""
    return (one.model, not one.is_shown, one.activation_rule is None, -one.n_tokens, -one.corpus_id)


def shown_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> dict[str, MeasuredCorpus]:
    """For each model the corpus that views show; those that show none are left out."""
    return {row.model: row for row in measured_corpora(connection, models) if row.is_shown}


def choose_corpora(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], name: str | None = None
) -> dict[str, MeasuredCorpus]:
    """For each model its shown corpus, or of those called `name` the one that would be shown: see `chosen_corpora`."""
    return chosen_corpora(measured_corpora(connection, models), name)


def chosen_corpora(rows: Sequence[MeasuredCorpus], name: str | None = None) -> dict[str, MeasuredCorpus]:
    """For each model the first of its corpora, or of those called `name`.

    Where several have one name, `NAME@TOKENS` is the one with so many tokens.

    Models that were not measured on text, or not on that corpus, are left out.

    Args:
        rows: as `measured_corpora` says.
        name: None for the shown ones.
    """
    chosen: dict[str, MeasuredCorpus] = {}
    for row in rows:
        if name is None or name in (row.corpus, f"{row.corpus}@{row.n_tokens}"):
            chosen.setdefault(row.model, row)
    if name is not None and not chosen:
        raise unknown_corpus(name, sorted({row.corpus for row in rows}))
    return chosen


def which_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[str]:
    """On which corpora an answer rests, where it depends on text and there is a choice: a sentence, or none."""
    rows = measured_corpora(connection, models)
    if len({row.corpus_id for row in rows}) < 2:
        return []
    readers: dict[str, list[str]] = {}
    for row in rows:
        if row.is_shown:
            readers.setdefault(_unmistakable(row, rows), []).append(row.model)
    if len(readers) == 1:
        clause = f"on the shown corpus {visible(next(iter(readers)))}"
    else:
        on = ", ".join(f"{visible(corpus)} ({', '.join(names)})" for corpus, names in readers.items())
        clause = f"on the shown corpora {on}"
    return [f"{clause}{_how_another(rows)}"]


def _how_another(rows: Sequence[MeasuredCorpus]) -> str:
    """The command that shows another corpus of the first model that has one."""
    other = next((row for row in rows if not row.is_shown), None)
    if other is None:
        return ""
    return f"; `{command_line('pin', other.model, '--corpus', _unmistakable(other, rows))}` shows another"


def _unmistakable(one: MeasuredCorpus, rows: Sequence[MeasuredCorpus]) -> str:
    """A corpus's name, with its tokens where the model was measured on another of that name."""
    is_alone = sum((row.model, row.corpus) == (one.model, one.corpus) for row in rows) == 1
    return one.corpus if is_alone else f"{one.corpus}@{one.n_tokens}"
