"""What the definitions say of linear shortcuts, in plain loops over transformers' own forward pass."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.support.anatomy import Anatomy, Floats, float64
from tests.support.events import PlainStreams, probability, rank

TEXT = "the school is near river and old has a new roof one two three six total sum value of it was"
WORDS = TEXT.split()


def write_sentences(folder: Path, *, n: int = 240, domain: str = "prose", seed: int = 4) -> str:
    """`n` made-up sentences, a few in a file; returns what to give to --corpus."""
    chosen = random.Random(seed)
    place = folder / domain
    place.mkdir(parents=True)
    for number in range(0, n, 8):
        sentences = [
            " ".join(chosen.choice(WORDS) for _ in range(chosen.randint(2, 12))).capitalize() + "."
            for _ in range(min(8, n - number))
        ]
        (place / f"{number:04d}.txt").write_text(" ".join(sentences))
    return f"{domain}={place}"


class PlainShortcuts:
    """A checkpoint as transformers loads it, asked for its states at one position of each of some sentences."""

    def __init__(self, folder: Path) -> None:
        self.streams = PlainStreams(folder)

    def states(self, ids: Sequence[int], position: int) -> Floats:
        """[states d_model] of one sentence: what enters the first block and what leaves every one."""
        watched = self.streams.body.watch(torch.tensor([list(ids)]))
        seen = [watched[0]["block in"], *(layer["block out"] for layer in watched)]
        return np.stack([float64(state)[0, position] for state in seen])

    def parts(self, ids: Sequence[int], position: int) -> dict[tuple[int, str], tuple[Floats, Floats]]:
        """(layer, part) -> what it reads and what it returns there, without the residual."""
        found = {}
        body = self.streams.body
        first_norms: list[list[torch.Tensor]] = [[] for _ in body.blocks]
        handles = [
            block.get_submodule(FIRST_NORMS[body.config.model_type]).register_forward_hook(
                lambda _, given, out, layer=layer: first_norms[layer].extend((given[0], out))
            )
            for layer, block in enumerate(body.blocks)
        ]
        watched = body.watch(torch.tensor([list(ids)]))
        for handle in handles:
            handle.remove()
        for layer, seen in enumerate(watched):
            entered, normed = first_norms[layer]
            tensors = {
                "attention": (seen["block in"] if body.is_post_norm else normed, seen["attention out"]),
                "ffn": (seen["keys in"], seen["values out"]),
                "norm_1": (entered, normed),
                "norm_2": (seen["norm in"], seen["norm out"]),
            }
            for part, both in tensors.items():
                x, y = (float64(tensor).reshape(len(ids), -1)[position] for tensor in both)
                found[layer, part] = (x, y)
        return found

    def replaced(self, ids: Sequence[int], position: int, maps: Mapping[tuple[int, str], Floats]) -> Floats:
        """[d_model] the last state, where maps stand for parts, at all positions: each block written out."""
        body = self.streams.body
        with torch.inference_mode():
            x = body.watch(torch.tensor([list(ids)]))[0]["block in"]
            for layer, block in enumerate(body.blocks):
                mine = {part: torch.from_numpy(matrix).float() for (of, part), matrix in maps.items() if of == layer}
                x = _block(body, block, x, mine)
        last: Floats = float64(x)[0, position]
        return last

    def reading(self, last: Floats, substitute: Floats) -> dict[str, float]:
        """What the model says of a substitute for its last state."""
        own, other = self.streams.logits(last), self.streams.logits(substitute)
        top = int(np.argmax(other))
        ordered = np.sort(other)[::-1]
        return {
            "top_token": top,
            "top_probability": probability(other, top),
            "second_probability": float(np.exp(ordered[1] - other.max()) / np.exp(other - other.max()).sum()),
            "rank_in_model": rank(own, top),
            "surprisal": -math.log(probability(own, top)),
            "margin": float(ordered[0] - ordered[1]),
        }


FIRST_NORMS = {
    "opt": "self_attn_layer_norm",
    "gpt2": "ln_1",
    "gpt_neox": "input_layernorm",
    "llama": "input_layernorm",
    "phi3": "input_layernorm",
    "granite": "input_layernorm",
}
"""The norm of the attention, in a block."""


def _block(body: Anatomy, block: torch.nn.Module, x: torch.Tensor, maps: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """x + attention, then FFN, with the norms before them, after them, or both before both; maps where there are."""

    def part(name: str, entered: torch.Tensor) -> torch.Tensor:
        return entered @ maps[name].T if name in maps else real[name](entered)

    real: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "attention": lambda entered: _attended(body, block, entered),
        "ffn": lambda entered: _fed_forward(block, entered),
        "norm_1": block.get_submodule(FIRST_NORMS[body.config.model_type]),
        "norm_2": block.get_submodule(body.places.ffn_norm),
    }
    if body.is_post_norm:
        middle = part("norm_1", x + part("attention", x))
        return part("norm_2", middle + part("ffn", middle))
    attended = body.written_scale * part("attention", part("norm_1", x))
    if body.is_parallel:
        return x + attended + part("ffn", part("norm_2", x))
    return x + attended + body.written_scale * part("ffn", part("norm_2", x + attended))


def _attended(body: Anatomy, block: torch.nn.Module, entered: torch.Tensor) -> torch.Tensor:
    """Causal attention; without a mask that is what transformers does."""
    told: dict[str, Any] = {} if body.config.model_type == "gpt2" else {"attention_mask": None}
    if body.config.model_type in ("gpt_neox", "llama", "phi3", "granite"):
        rotary: Any = body.model.base_model.rotary_emb
        told["position_embeddings"] = rotary(entered, torch.arange(entered.shape[1])[None])
    attended: torch.Tensor = block.get_submodule(body.places.attention)(entered, **told)[0]
    return attended


def _fed_forward(block: Any, entered: torch.Tensor) -> torch.Tensor:  # noqa: ANN401 - OPT has no module of its FFN
    fed: torch.Tensor = block.mlp(entered) if hasattr(block, "mlp") else block.fc2(torch.relu(block.fc1(entered)))
    return fed


def least_squares(x: Floats, y: Floats) -> Floats:
    """A of least norm: y is about A x for every row."""
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0].T)


def r2(targets: Floats, predicted: Floats) -> float:
    """1 - SS_res / SS_tot of each coordinate with its own mean, averaged."""
    found = []
    for column in range(targets.shape[1]):
        y, guess = targets[:, column], predicted[:, column]
        residual, total = sum((y - guess) ** 2), sum((y - y.mean()) ** 2)
        found.append(1 - residual / total if y.max() > y.min() else float(residual == 0))
    return float(np.mean(found))


def wilson(count: int, n: int) -> tuple[float, float]:
    """The shares p at which the observed one is just 1.96 standard errors of p away, found by halving."""

    def edge(low: float, high: float, *, rising: bool) -> float:
        for _ in range(200):
            middle = (low + high) / 2
            is_far = abs(count / n - middle) > 1.959963984540054 * math.sqrt(middle * (1 - middle) / n)
            low, high = (middle, high) if is_far == rising else (low, middle)
        return (low + high) / 2

    share = count / n
    return edge(0, share, rising=True), edge(share, 1, rising=False)
