"""Two sets of prompts and their shuffled labels, against the bare forward passes of the same prompts."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging

from benchmarks import shapes
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.catalog.problems import Unavailable
from neurothek.ingest.corpora.prompt_sets import read_prompts
from neurothek.ingest.corpora.prompts import Prompt, whole_prompts
from neurothek.ingest.forward.prompt_pass import PromptBatch, prompt_batches
from neurothek.ingest.jobs.contrasts.differences import BATCH_TOKENS, N_CONTROLS, N_SHUFFLES, contrasted
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.packages import SMOLLM2, fetched
from neurothek.ingest.models.transformer import Transformer, open_transformer

ROUNDS = 5
N_LAYERS = 12
N_PROMPTS = 64
LENGTHS = (8, 20)
SETS = (("questions", "statements"), ("code", "prose"))
MINI = "mini-opt-5m"


def main() -> None:
    """Take the figures and publish them."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    # Of one thread the processor's time is what a quiet machine takes, and other work on it does not count.
    torch.set_num_threads(1)
    rows: list[tuple[str, ...]] = []
    with shapes.opt_125m(n_layers=N_LAYERS, activation="relu", active_share=0.05) as folder:
        transformer, model = _opened(str(folder), folder)
        for length in LENGTHS:
            a, b = (_prompts(length, transformer.shape.vocab_size, seed) for seed in (1, 2))
            rows += _rows(f"OPT-125m shape, {length} tokens", transformer, model, a, b)
    places = {MINI: MINI}
    try:
        places[SMOLLM2.name] = str(fetched(SMOLLM2))
    except Unavailable as error:
        print(f"The contrasts of a model that people use are left out: {error}")
    for name, place in places.items():
        rows += _builtin_rows(name, place)
    text = f"""## Contrasts

{N_PROMPTS} prompts of each set, {N_SHUFFLES} shuffles of their labels and {N_CONTROLS} that are taken for the true
ones, float32: {N_LAYERS} layers of the OPT-125m shape with random weights and prompts of equal lengths, then the
built-in sets, whose questions and statements have 6 tokens each, and code and prose 20. The unit is the bare pass:
transformers' own model without its vocabulary head on the same batches. Seconds are the processor's, of one thread;
the best of {ROUNDS} rounds. The goal is 1.1. What the shuffles take depends on the number of neurons and prompts
alone, so that it weighs most where prompts are short and the model is narrow: all passes of {MINI} on its
questions and statements take less than a tenth of a second.

{table(("prompts", "positions", "seconds", "of the bare pass"), rows)}

{machine()}
"""
    publish_block("contrasts", text)


def _opened(place: str, folder: Path) -> tuple[Transformer, PreTrainedModel]:
    """A model as neurothek reads it, and as transformers does."""
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    assert isinstance(model, PreTrainedModel)
    model.eval()
    return open_transformer(find(place)), model


def _builtin_rows(name: str, place: str) -> list[tuple[str, ...]]:
    folder = find(place).folder
    transformer, model = _opened(place, folder)
    tokenizer = tokenization.load(folder)
    rows = []
    for of_pair in SETS:
        a, b = (
            whole_prompts(
                read_prompts("a", f"builtin:{one}"),
                tokenizer,
                context_length=transformer.shape.context_length,
                is_masked=False,
                option="a",
            )
            for one in of_pair
        )
        rows += _rows(f"{name}, {' and '.join(of_pair)}", transformer, model, a, b)
    return rows


def _rows(
    prompts: str, transformer: Transformer, model: PreTrainedModel, a: Sequence[Prompt], b: Sequence[Prompt]
) -> list[tuple[str, ...]]:
    """A row for either way to take activations."""
    contenders: dict[str, Callable[[], object]] = {
        "bare": partial(_bare, model, prompt_batches([*a, *b], batch_tokens=BATCH_TOKENS)),
        "last": partial(contrasted, transformer, a, b, positions="last"),
        "all": partial(contrasted, transformer, a, b, positions="all"),
    }
    best = best_seconds(contenders, rounds=ROUNDS, clock=time.process_time)
    return [(prompts, name, f"{best[name]:.3f}", f"{best[name] / best['bare']:.2f}") for name in ("last", "all")]


def _prompts(length: int, vocab_size: int, seed: int) -> list[Prompt]:
    draw = np.random.default_rng(seed)
    ids = draw.integers(4, vocab_size, size=(N_PROMPTS, length), dtype=np.int32)
    return [Prompt(number, "", row, length - 1, length - 1) for number, row in enumerate(ids)]


@torch.inference_mode()
def _bare(model: PreTrainedModel, cut: Sequence[PromptBatch]) -> None:
    for batch in cut:
        model.base_model(batch.tokens, use_cache=False)


if __name__ == "__main__":
    main()
