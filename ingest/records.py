"""A model and a corpus as rows of the warehouse."""

import re

import polars as pl

from catalog.publish import CorpusRecord, ModelRecord
from catalog.tables import CORPORA, MODELS, TOKENIZERS
from ingest.architectures import Shape
from ingest.corpora import Corpus
from ingest.errors import TokenizerTooLarge
from ingest.tokenization import Tokenizer
from ingest.weights import Checkpoint

# A size at the end of a name, such as -125m or -1.3b, or one of the words that GPT-2's sizes have.
_SIZE = re.compile(r"[-_](?:\d+(?:\.\d+)?[kmb]|small|medium|large|xl)(?![a-z0-9]).*$", re.IGNORECASE)


def model_record(checkpoint: Checkpoint, shape: Shape, tokenizer: Tokenizer) -> ModelRecord:
    """The model's rows of `models`, `tokenizers` and `tokens`.

    A checkpoint may say its family, variant and training tokens in a dictionary `neurothek` of its config; else the
    family is the name without its size.

    Raises:
        TokenizerTooLarge: the tokenizer has ids that the unembedding has no row for.
    """
    if int(tokenizer.ids[-1]) >= shape.vocab_size:
        raise TokenizerTooLarge(checkpoint.name, int(tokenizer.ids[-1]) + 1, shape.vocab_size)
    said = checkpoint.config.get("neurothek")
    said = said if isinstance(said, dict) else {}
    row = {
        "name": checkpoint.name,
        "family": said.get("family") or _SIZE.sub("", checkpoint.name.split("@")[0]),
        "variant": said.get("variant"),
        "source": checkpoint.source,
        "revision": checkpoint.revision,
        "weights_sha256": checkpoint.weights_sha256,
        "architecture": shape.architecture,
        "activation": shape.activation,
        "activation_rule": shape.activation_rule,
        "has_exact_zeros": shape.has_exact_zeros,
        "norm_position": shape.norm_position,
        "position_encoding": shape.position_encoding,
        "n_layers": shape.n_layers,
        "d_model": shape.d_model,
        "d_ffn": shape.d_ffn,
        "n_heads": shape.n_heads,
        "vocab_size": shape.vocab_size,
        "context_length": shape.context_length,
        "n_parameters": shape.n_parameters,
        "n_parameters_embedding": shape.n_parameters_embedding,
        "n_neurons": shape.n_layers * shape.d_ffn,
        "training_tokens": said.get("training_tokens"),
        "has_parallel_residual": shape.has_parallel_residual,
        "settings": shape.settings,
    }
    known = {
        "name": checkpoint.name,
        "sha256": tokenizer.sha256,
        "vocab_size": tokenizer.vocab_size,
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
    }
    return ModelRecord(
        row=pl.DataFrame([row], schema=dict(MODELS.columns)),
        tokenizer=pl.DataFrame([known], schema=dict(TOKENIZERS.columns)),
        tokens=tokenizer.frame(),
    )


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
        row=pl.DataFrame([row], schema=dict(CORPORA.columns)),
        sequences=corpus.sequences_frame(),
        token_counts=corpus.token_counts_frame(),
    )
