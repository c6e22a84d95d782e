"""Scores of input embeddings in keys, by loops over what a weight file holds, and not through our view of it."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from neurothek.ingest.models.tokenizer import load
from tests.support import ingests
from tests.support.models import GEMMAS, Kind, build, edit_tensors


@dataclass(frozen=True)
class Names:
    """Where a file keeps things: the embedding, and in a block the readers, and the norm before the FFN."""

    embedding: str
    blocks: str
    readers: dict[str, str]
    norm: str | None


_GATED = {"gate": "mlp.gate_proj", "up": "mlp.up_proj"}

NAMES: dict[Kind, Names] = {
    "opt": Names("model.decoder.embed_tokens", "model.decoder.layers", {"key": "fc1"}, "final_layer_norm"),
    "opt350": Names("model.decoder.embed_tokens", "model.decoder.layers", {"key": "fc1"}, None),
    "gpt2": Names("transformer.wte", "transformer.h", {"key": "mlp.c_fc"}, "ln_2"),
    "neox": Names("gpt_neox.embed_in", "gpt_neox.layers", {"key": "mlp.dense_h_to_4h"}, "post_attention_layernorm"),
    "bert": Names("bert.embeddings.word_embeddings", "bert.encoder.layer", {"key": "intermediate.dense"}, None),
    "llama": Names("model.embed_tokens", "model.layers", _GATED, "post_attention_layernorm"),
    "smollm3": Names("model.embed_tokens", "model.layers", _GATED, "post_attention_layernorm"),
    "granite": Names("model.embed_tokens", "model.layers", _GATED, "post_attention_layernorm"),
    "olmo2": Names("model.embed_tokens", "model.layers", _GATED, None),
    "phi3": Names(
        "model.embed_tokens",
        "model.layers",
        dict.fromkeys(("gate", "up"), "mlp.gate_up_proj"),
        "post_attention_layernorm",
    ),
    "gemma2": Names("model.embed_tokens", "model.layers", _GATED, "pre_feedforward_layernorm"),
    "gemma3": Names("model.embed_tokens", "model.layers", _GATED, "pre_feedforward_layernorm"),
}


def readers_of(kind: Kind) -> tuple[str, ...]:
    """Names of a neuron's readers."""
    return tuple(NAMES[kind].readers)


def weight_name(kind: Kind, layer: int, reader: str) -> str:
    """What a file calls the matrix whose rows, or columns in GPT-2, are a layer's readers."""
    names = NAMES[kind]
    return f"{names.blocks}.{layer}.{names.readers[reader]}.weight"


def own_rows(weight: Tensor, kind: Kind, reader: str) -> Tensor:
    """A view of the rows of a stored matrix that are a layer's readers, neuron by neuron."""
    if kind == "phi3":
        return weight[: len(weight) // 2] if reader == "gate" else weight[len(weight) // 2 :]
    return weight.T if kind == "gpt2" else weight


def gain(tensors: dict[str, Tensor], kind: Kind, layer: int) -> Tensor | None:
    """What the norm before a layer's FFN multiplies by, None where there is none."""
    names = NAMES[kind]
    if names.norm is None:
        return None
    weight = tensors[f"{names.blocks}.{layer}.{names.norm}.weight"]
    return 1 + weight if kind in GEMMAS else weight


@dataclass(frozen=True)
class Reader:
    """What a layer's neurons read with, and what it meets, as lists of numbers."""

    embedding: Sequence[Sequence[float]]  # by token, as it enters the first block
    gain: Sequence[float]
    rows: Sequence[Sequence[float]]  # by neuron

    def scores(self, row: Sequence[float], ids: Sequence[int]) -> list[float]:
        """DEFINITIONS, 'Reads': e_in * gain . k, token by token."""
        return [sum(e * g * k for e, g, k in zip(self.embedding[token], self.gain, row, strict=True)) for token in ids]


def read_file(folder: Path, kind: Kind, layer: int, reader: str) -> Reader:
    """From the file of a tiny model."""
    tensors = {name: tensor.double() for name, tensor in load_file(folder / "model.safetensors").items()}
    embedding = tensors[f"{NAMES[kind].embedding}.weight"]
    if kind == "granite":
        embedding = embedding * json.loads((folder / "config.json").read_text())["embedding_multiplier"]
    if kind in GEMMAS:
        embedding = embedding * math.sqrt(embedding.shape[1])
    if kind == "opt350":
        projection = tensors["model.decoder.project_in.weight"]
        embedding = torch.stack([torch.stack([row @ narrow for row in projection]) for narrow in embedding])
    rows = tensors[weight_name(kind, layer, reader)]
    rows = own_rows(rows, kind, reader)
    factors = gain(tensors, kind, layer)
    factors = torch.ones(rows.shape[1], dtype=torch.float64) if factors is None else factors
    return Reader(embedding.tolist(), factors.tolist(), rows.tolist())


PLANTED, WORD = 3, "school"
"""A neuron of the first layer that reads a word: its key is the embedding over the gain; of a gated model its gate is,
and its up projection the opposite."""

MODELS: dict[str, Kind] = {"ungated": "gpt2", "gated": "llama"}
UNMEASURED = "bare"
"""A model on which the job keys was not run."""


def plant_(tensors: dict[str, Tensor], kind: Kind, token_id: int) -> None:
    """Have the planted neuron read the token."""
    table = tensors[f"{NAMES[kind].embedding}.weight"]
    table[token_id] = 3 * table[token_id]
    factors = gain(tensors, kind, 0)
    assert factors is not None
    for reader in readers_of(kind):
        rows = own_rows(tensors[weight_name(kind, 0, reader)], kind, reader)
        rows[PLANTED] = (-1 if reader == "up" else 1) * table[token_id] / factors


def create(path: Path) -> None:
    """A warehouse of models that were measured on a text, of which two have keys."""
    folder = path.parent / f"{path.stem}-models"
    folder.mkdir()
    corpora = ingests.write_corpus(folder)
    warehouse = ingests.open_warehouse(path)
    for name, kind in {**MODELS, UNMEASURED: "opt"}.items():
        build(folder / name, kind, d_ffn=16)
        if name in MODELS:
            token_id = int(load(folder / name).encode([f" {WORD}"])[0][-1])
            edit_tensors(folder / name, partial(plant_, kind=kind, token_id=token_id))
        jobs = (*ingests.JOBS, "keys") if name in MODELS else ingests.JOBS
        ingests.measure(warehouse, folder / name, ingests.request(corpora, jobs=jobs))
