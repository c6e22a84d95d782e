"""The loss of a model whose neurons are changed, against the bare forward pass and loss of transformers' own model."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, PreTrainedModel

from benchmarks import shapes
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.forward.batches import RightPadded, padded
from neurothek.ingest.interventions.changed import Changes, changed_losses
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Change, Transformer, open_transformer

ROUNDS = 3
N_LAYERS = 4
N_SEQUENCES, LENGTH = 1, 512
N_NEURONS = 10
N_SETS = 20


def main() -> None:
    """Take the figures and publish them."""
    with shapes.opt_125m(n_layers=N_LAYERS, activation="relu", active_share=0.05) as folder:
        transformer = open_transformer(find(str(folder)))
        batch = _batch(transformer)
        contenders: dict[str, Callable[[], object]] = {
            "bare": partial(_bare, _model(folder), batch),
            "untouched": partial(changed_losses, transformer, batch, _ways(0, layer=0)),
            "one in the first layer": partial(changed_losses, transformer, batch, _ways(1, layer=0)),
            "sets in the first layer": partial(changed_losses, transformer, batch, _ways(1 + N_SETS, layer=0)),
            "sets in the third layer": partial(changed_losses, transformer, batch, _ways(1 + N_SETS, layer=2)),
        }
        best = best_seconds(contenders, rounds=ROUNDS)
    bare, untouched = best["bare"], best["untouched"]
    rows: list[tuple[str, ...]] = [
        (name, f"{best[name]:.2f}", f"{best[name] / bare:.2f}", f"{(best[name] - untouched) / ways / bare:.2f}")
        for name, ways in (
            ("one in the first layer", 1),
            ("sets in the first layer", 1 + N_SETS),
            ("sets in the third layer", 1 + N_SETS),
        )
    ]
    text = f"""## Interventions

{N_LAYERS} layers of the OPT-125m shape, {N_SEQUENCES} sequence of {LENGTH} ids, {N_NEURONS} neurons set to 0, random
weights, float32. The unit is the bare pass: transformers' own model with its vocabulary head and the loss of the next
tokens, on the same batch and threads, {bare:.2f} s. Beside the untouched model ({untouched / bare:.2f} of it) an
intervention alone, then one with {N_SETS} random sets: in all, and for each changed model beyond the untouched one. The
goal for one is 1.1; sets in the third of four layers share the two below.

{table(("changed", "seconds", "of the bare pass", "each, of the bare pass"), rows)}

{machine()}
"""
    publish_block("interventions", text)


def _model(folder: Path) -> PreTrainedModel:
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    assert isinstance(model, PreTrainedModel)
    model.eval()
    return model


def _batch(transformer: Transformer) -> RightPadded:
    draw = np.random.default_rng(1)
    sequences = [draw.integers(4, transformer.shape.vocab_size, size=LENGTH) for _ in range(N_SEQUENCES)]
    return RightPadded(0, padded(sequences), (LENGTH,) * N_SEQUENCES)


def _ways(n: int, *, layer: int) -> list[Changes]:
    return [
        {layer: Change(torch.arange(N_NEURONS) + N_NEURONS * number, values=None, factor=0.0)} for number in range(n)
    ]


@torch.inference_mode()
def _bare(model: PreTrainedModel, batch: RightPadded) -> None:
    logits = model(batch.tokens, use_cache=False).logits
    cross_entropy(logits[:, :-1].flatten(0, 1), batch.tokens[:, 1:].flatten())
