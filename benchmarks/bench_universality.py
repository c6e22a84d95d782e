"""Correlations of all neurons of two models, against the bare forward passes and products of the same size."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from transformers import AutoModel, PreTrainedModel

from benchmarks import shapes
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.jobs.universality.correlations import Layers, compare_layer, write_activations
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS

ROUNDS = 2
N_LAYERS = 2
LENGTH = 500
N_POSITIONS = (3_000, 15_000)


def main() -> None:
    """Take the figures and publish them."""
    rows: list[tuple[str, ...]] = []
    with shapes.opt_125m(n_layers=N_LAYERS, activation="relu", active_share=0.05) as folder:
        transformer = open_transformer(find(str(folder)))
        model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        assert isinstance(model, PreTrainedModel)
        model.eval()
        for n_positions in N_POSITIONS:
            text = _text(n_positions, transformer.shape.vocab_size)
            contenders: dict[str, Callable[[], object]] = {
                "passes": partial(_passes, model, text),
                "products": partial(_products, N_LAYERS * transformer.shape.d_ffn, n_positions),
                "all": partial(_all, transformer, text),
            }
            best = best_seconds(contenders, rounds=ROUNDS)
            bare = best["passes"] + best["products"]
            seconds = (f"{best[name]:.1f}" for name in contenders)
            rows.append((f"{n_positions:,}", *seconds, f"{best['all'] / bare:.2f}"))
    text_block = f"""## Universality

Two models of {N_LAYERS} layers of the OPT-125m shape, random weights, float32: all pairs of their neurons at so many
positions, beside rotated bases of either, files included. The unit is what nobody can do without: transformers' own
model without its vocabulary head over the same batches, once for each model, and the one float32 product of all
activations of the one with those of the other. Rotations take two products more, each as deep as the neurons that are
rotated together, however many positions there are, and the orthogonal matrices themselves. The goal is 2 at 15,000
positions.

{table(("positions", "passes, s", "products, s", "the job, s", "of passes and products"), rows)}

{machine()}
"""
    publish_block("universality", text_block)


def _text(n_positions: int, vocab_size: int) -> Corpus:
    n = n_positions // LENGTH
    return Corpus(
        name="random",
        sha256="",
        text_sha256="",
        tokenizer_sha256="",
        sequence_length=LENGTH,
        has_bos=False,
        domains=("random",),
        tokens=np.random.default_rng(1).integers(4, vocab_size, n * LENGTH).astype(np.int32),
        offsets=np.arange(n + 1) * LENGTH,
        domain_of=np.zeros(n, dtype=np.int16),
        starts_document=np.ones(n, dtype=np.bool_),
        recipe="",
    )


@torch.inference_mode()
def _passes(model: PreTrainedModel, text: Corpus) -> None:
    for _ in range(2):
        for batch in batches(text, range(text.n_sequences), batch_tokens=DEFAULT_BATCH_TOKENS):
            model(batch.tokens, use_cache=False)


@torch.inference_mode()
def _products(n_neurons: int, n_positions: int) -> None:
    one, other = (torch.rand(n_neurons, n_positions) for _ in range(2))
    for start in range(0, n_neurons, n_neurons // 4):
        _ = one[start : start + n_neurons // 4] @ other.T


def _all(transformer: Transformer, text: Corpus) -> None:
    with TemporaryDirectory() as folder:
        sides = []
        for name in ("one", "other"):
            place = Path(folder) / name
            spreads = write_activations(transformer, text, place, batch_tokens=DEFAULT_BATCH_TOKENS)
            sides.append(Layers(place, spreads, 0, transformer.device))
            sides[-1].write_rotations()
        for layer in range(transformer.shape.n_layers):
            compare_layer(sides[0], layer, sides[1], either_sign=False)


if __name__ == "__main__":
    main()
