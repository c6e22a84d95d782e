"""The attribution of a prompt's prediction to all neurons, against one forward pass of the prompt."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from benchmarks import shapes
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.trace.attribution import attributed

ROUNDS = 5
N_LAYERS = 12
LENGTHS = (20, 60, 200)


def main() -> None:
    """Take the figures and publish them."""
    rows: list[tuple[str, ...]] = []
    with shapes.opt_125m(n_layers=N_LAYERS, activation="relu", active_share=0.05) as folder:
        transformer, tokenizer = open_transformer(find(str(folder))), _Numbers(**vars(shapes.tokenizer()))
        model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        assert isinstance(model, PreTrainedModel)
        model.eval()
        draw = np.random.default_rng(1)
        for length in LENGTHS:
            ids = draw.integers(4, transformer.shape.vocab_size - 8, size=length)
            prompt = " ".join(map(str, ids.tolist()))
            tokens = torch.from_numpy(np.concatenate([[2], ids]))[None]
            toward, instead = 500, 501
            contenders: dict[str, Callable[[], object]] = {
                "bare": partial(_bare, model, tokens),
                "two tokens": partial(attributed, transformer, tokenizer, prompt, toward=toward, instead=instead),
                "beside the mean": partial(attributed, transformer, tokenizer, prompt, toward=toward),
            }
            best = best_seconds(contenders, rounds=ROUNDS)
            bare = best.pop("bare")
            rows += [
                (f"{tokens.shape[1]}", name, f"{seconds:.3f}", f"{seconds / bare:.2f}")
                for name, seconds in best.items()
            ]
    text = f"""## Attribution of a prompt

`trace --toward TOKEN --instead TOKEN`, or beside the mean of the vocabulary, on {N_LAYERS} layers of the OPT-125m
shape, random weights, float32, the model open. The unit is one forward pass: transformers' own model on the same
tokens, with the logits of all positions. The goal is 3: a pass forward, one back, and what each neuron writes.

{table(("tokens", "attribution", "seconds", "of one pass"), rows)}

{machine()}
"""
    publish_block("attribution", text)


class _Numbers(Tokenizer):
    """Reads ids that are written out."""

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """[texts] the ids of each."""
        return [np.array(text.split(), dtype=np.int32) for text in texts]

    def texts(self, ids: np.ndarray) -> tuple[str, ...]:
        """[ids] each as it was written."""
        return tuple(map(str, ids.tolist()))


@torch.inference_mode()
def _bare(model: PreTrainedModel, tokens: torch.Tensor) -> None:
    model(tokens, use_cache=False)
