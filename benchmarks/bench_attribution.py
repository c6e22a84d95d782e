"""The attribution of a prompt's prediction to all neurons, against one forward pass of the prompt.

The environment variable MODEL, opt-125m or smollm2-135m, takes the figures of one of the two models alone.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging

from benchmarks import shapes
from benchmarks.timing import machine, median_seconds, publish_block, table
from neurothek.catalog.problems import Unavailable
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.packages import SMOLLM2, fetched
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.trace.attribution import attributed

ROUNDS = 15
N_LAYERS = 12
LENGTHS = (20, 60, 200)
REAL_LENGTHS = (8, 20, 60)
MODEL = os.environ.get("MODEL", "")
OPT = "opt-125m"


def main() -> None:
    """Take the figures and publish them, of each model in a block."""
    if MODEL not in ("", OPT, SMOLLM2.name):
        sys.exit(f"there is no model {MODEL} here; MODEL names {OPT} or {SMOLLM2.name}")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    # Of one thread the processor's time is what a quiet machine takes, and other work on it does not count.
    torch.set_num_threads(1)
    if MODEL in ("", OPT):
        with shapes.opt_125m(n_layers=N_LAYERS, activation="relu", active_share=0.05) as folder:
            _publish_shape(_rows(folder, folder, shapes.tokenizer(), LENGTHS))
    if MODEL in ("", SMOLLM2.name):
        try:
            file = fetched(SMOLLM2)
        except Unavailable as error:
            print(f"The attribution of a model that people use is left out: {error}")
            return
        checkpoint = find(str(file))
        _publish_real(_rows(file, checkpoint.folder, tokenization.load(checkpoint.folder), REAL_LENGTHS))


def _publish_shape(rows: list[tuple[str, ...]]) -> None:
    text = f"""## Attribution of a prompt

`trace --toward TOKEN --instead TOKEN`, or beside the mean of the vocabulary, on {N_LAYERS} layers of the OPT-125m
shape, random weights, float32, the model open. The units are one forward pass of transformers' own model on the same
tokens, with the logits of all positions, and one with those of the last position alone, which are all that an
attribution reads. Seconds are the processor's, of one thread; medians of {ROUNDS} rounds. The goal is 3 passes: one
forward, one back, and what each neuron writes; beside the last logits alone prompts of 21 tokens just miss it.

{_table(rows)}

{machine()}
"""
    publish_block("attribution", text)


def _publish_real(rows: list[tuple[str, ...]]) -> None:
    text = f"""### Of SmolLM2-135M

The same of SmolLM2-135M-Instruct in 4 bits, read as float32: 30 layers of 1,536 gated neurons, 49,152 tokens.

{_table(rows)}

{machine()}
"""
    publish_block("attribution of smollm2", text)


def _table(rows: list[tuple[str, ...]]) -> str:
    header = ("tokens", "attribution", "seconds", "a pass, all logits", "of it", "a pass, last logits", "of it")
    return table(header, rows)


def _rows(place: Path, folder: Path, tokenizer: Tokenizer, lengths: Sequence[int]) -> list[tuple[str, ...]]:
    """A row a length and attribution: its seconds beside those of both passes."""
    transformer, reader = open_transformer(find(str(place))), _Numbers(**vars(tokenizer))
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    assert isinstance(model, PreTrainedModel)
    model.eval()
    first = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
    draw, rows = np.random.default_rng(1), []
    for length in lengths:
        ids = draw.integers(4, transformer.shape.vocab_size - 8, size=length)
        prompt = " ".join(map(str, ids.tolist()))
        tokens = torch.from_numpy(np.concatenate([first, ids]).astype(np.int64))[None]
        toward, instead = 500, 501
        contenders: dict[str, Callable[[], object]] = {
            "all": partial(_bare, model, tokens, 0),
            "last": partial(_bare, model, tokens, 1),
            "two tokens": partial(attributed, transformer, reader, prompt, toward=toward, instead=instead),
            "beside the mean": partial(attributed, transformer, reader, prompt, toward=toward),
        }
        taken = median_seconds(contenders, rounds=ROUNDS, clock=time.process_time)
        units = [taken.pop("all"), taken.pop("last")]
        for name, seconds in taken.items():
            beside = [cell for unit in units for cell in (f"{unit:.3f}", f"{seconds / unit:.2f}")]
            rows.append((f"{tokens.shape[1]}", name, f"{seconds:.3f}", *beside))
    return rows


class _Numbers(Tokenizer):
    """Reads ids that are written out."""

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """[texts] the ids of each."""
        return [np.array(text.split(), dtype=np.int32) for text in texts]

    def texts(self, ids: np.ndarray) -> tuple[str, ...]:
        """[ids] each as it was written."""
        return tuple(map(str, ids.tolist()))


@torch.inference_mode()
def _bare(model: PreTrainedModel, tokens: torch.Tensor, n_logits: int) -> None:
    model(tokens, use_cache=False, logits_to_keep=n_logits)
