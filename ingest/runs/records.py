"""A model and a corpus as rows of the warehouse."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from neurothek.catalog.problems import Conflict, Invalid, NeurothekError
from neurothek.catalog.publishing.publish import CorpusRecord, ModelRecord
from neurothek.catalog.tables.dimensions import CORPORA, MODELS, TOKENIZERS
from neurothek.catalog.variants import NO_POSITION, family_of, step_of_revision, variant_of, without_seed
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.models.errors import NAMES_SHOWN, shortened
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Shape
from neurothek.ingest.models.weights import Checkpoint

LabelType = TypeVar("LabelType")

# A size at the end of a name, such as -125m or -1.3b, or one of the words that GPT-2's sizes have.
_SIZE = re.compile(r"[-_](?:\d+(?:\.\d+)?[kmb]|small|medium|large|xl)(?![a-z0-9]).*$", re.IGNORECASE)

_LAST_STEPS = {"pythia": 143_000}
"""Family -> the step that ended its training: that revision is the branch main under another name."""


def model_record(
    checkpoint: Checkpoint,
    shape: Shape,
    tokenizer: Tokenizer,
    *,
    family: str | None = None,
    variant: str | None = None,
) -> ModelRecord:
    """The model's rows of `models`, `tokenizers` and `tokens`.

    Family and variant are those given, else those that the checkpoint says in a dictionary `neurothek` of its config
    (which also says its training tokens). Else the family is the name without its size, and the variant follows from
    the hub's revision (step1000), a seed at the name's end (pythia-14m-seed1), or a model without positions; `plain`
    gives none.
    """
    if int(tokenizer.ids[-1]) >= shape.vocab_size:
        frame = tokenizer.frame()
        beyond = frame.filter(pl.col("token_id") >= shape.vocab_size)["piece"].to_list()
        examples = ", ".join(f"{shortened(piece)!r}" for piece in beyond[:NAMES_SHOWN])
        more = ", ..." if len(beyond) > NAMES_SHOWN else ""
        raise Conflict(
            f"the tokenizer of {checkpoint.name} has ids up to {int(tokenizer.ids[-1])}, but the model's unembedding"
            f" has {shape.vocab_size} rows, none for {examples}{more}:"
            " put the model's own tokenizer beside its weights, or take these tokens out of it",
            what="tokenizer",
            name=checkpoint.name,
        )
    labels = checkpoint.config.get("neurothek", {})
    if not isinstance(labels, dict):
        raise Invalid(
            f"config.json in {checkpoint.folder} has {labels!r:.80} under neurothek, which is no object",
            'write one, such as {"family": "mini-opt"}, or remove it',
            option="neurothek in config.json",
            value=labels,
        )
    row = {
        "name": checkpoint.name,
        "family": _family(checkpoint, labels) if family is None else family_of(family),
        "variant": _variant(checkpoint, shape, labels) if variant is None else variant_of(variant),
        "source": checkpoint.source,
        "revision": checkpoint.revision,
        "weights_sha256": checkpoint.weights_sha256,
        "n_neurons": shape.n_layers * shape.d_ffn,
        "size": shape.n_parameters - shape.n_parameters_embedding,
        "training_tokens": _training_tokens(checkpoint, labels),
        # Columns of a shape are called as it calls them.
        **{name: getattr(shape, name) for name in MODELS.schema if hasattr(shape, name)},
    }
    return ModelRecord(
        row=pl.DataFrame([row], schema=MODELS.schema),
        tokenizer=_tokenizer_row(checkpoint, tokenizer),
        tokens=tokenizer.frame(),
    )


def _tokenizer_row(checkpoint: Checkpoint, tokenizer: Tokenizer) -> pl.DataFrame:
    row = {
        "name": checkpoint.name,
        "sha256": tokenizer.sha256,
        "vocab_size": tokenizer.vocab_size,
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
    }
    return pl.DataFrame([row], schema=TOKENIZERS.schema)


def _family(checkpoint: Checkpoint, labels: Mapping[str, Any]) -> str:
    """As the model says itself, else its name without its size: the hub's, whatever it is called here, or its own.

    Steps in the training of another seed are a family with it: they are not steps of the plain models.
    """
    if labels.get("family") is not None:
        return _read(checkpoint, labels, "family", family_of)
    family, seed = _named(checkpoint)
    return family if seed is None or _step(checkpoint) is None else f"{family}-seed{seed}"


def _named(checkpoint: Checkpoint) -> tuple[str, int | None]:
    """Family and seed by the model's name."""
    name = checkpoint.name if checkpoint.revision is None else Path(checkpoint.source).name
    name = name.split("@")[0]
    quantization = (checkpoint.config.get("neurothek") or {}).get("quantization")
    if quantization is not None:
        # A file is usually called after its model and its quantization.
        name = re.sub(rf"[._-]{re.escape(str(quantization))}$", "", name, flags=re.IGNORECASE)
    name, seed = without_seed(name)
    return _SIZE.sub("", name), seed


def _step(checkpoint: Checkpoint) -> int | None:
    """The step that the hub's revision is named after, if it did not end the training."""
    step = None if checkpoint.asked_revision is None else step_of_revision(checkpoint.asked_revision)
    return None if step == _LAST_STEPS.get(_named(checkpoint)[0]) else step


def _variant(checkpoint: Checkpoint, shape: Shape, labels: Mapping[str, Any]) -> str | None:
    """What sets the model apart, as it says itself, else its revision, else its name, else its positions."""
    if labels.get("variant") is not None:
        return _read(checkpoint, labels, "variant", variant_of)
    if labels.get("family") is not None:
        return None  # what says a family and no variant says that it is a plain size
    step, (_, seed) = _step(checkpoint), _named(checkpoint)
    if step is not None:
        return f"step {step}"
    if seed is not None:
        return f"seed {seed}"
    return NO_POSITION if shape.position_encoding == "none" else None


def _read(
    checkpoint: Checkpoint, labels: Mapping[str, Any], name: str, read: Callable[[object], LabelType]
) -> LabelType:
    try:
        return read(labels[name])
    except NeurothekError as error:
        way = f"correct it, or set it with --{name}"
        raise _invalid_label(checkpoint.folder, name, labels[name], way=way) from error


def _training_tokens(checkpoint: Checkpoint, labels: Mapping[str, Any]) -> int | None:
    number = labels.get("training_tokens")
    if number is None:
        return None
    if type(number) is not int or not 0 <= number < 2**63:
        way = "give a whole number from 0 to 2^63 - 1, or remove it"
        raise _invalid_label(checkpoint.folder, "training_tokens", number, way=way)
    return number


def _invalid_label(folder: Path, name: str, value: object, *, way: str) -> Invalid:
    """A config.json that says a family, a variant or a number of tokens that is none."""
    message = f"config.json in {folder} has the invalid {name} {value!r:.80} under neurothek"
    return Invalid(message, way, option=f"neurothek.{name} in config.json", value=value)


def corpus_record(corpus: Corpus) -> CorpusRecord:
    """The corpus's rows of `corpora`, `sequences` and `token_counts`."""
    row = {
        "name": corpus.name,
        "sha256": corpus.sha256,
        "text_sha256": corpus.text_sha256,
        "n_tokens": corpus.n_counted,
        "n_sequences": corpus.n_sequences,
        "sequence_length": corpus.sequence_length,
        "recipe": corpus.recipe,
    }
    return CorpusRecord(
        row=pl.DataFrame([row], schema=CORPORA.schema),
        sequences=corpus.sequences_frame(),
        token_counts=corpus.token_counts_frame(),
    )
