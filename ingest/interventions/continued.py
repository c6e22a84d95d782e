"""Prompts continued token by token by a model as it is, with neurons changed, or with its predictions adjusted."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.interventions.changed import Changes
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

BATCH_PROMPTS = 32
"""Prompts of one length that are continued together at most."""

Adjust = Callable[[Int[Tensor, "batch time"], Float[Tensor, "batch vocab"]], Float[Tensor, "batch vocab"]]
"""Ids read so far and the logits of the next one -> the logits that it is chosen by."""


@dataclass(frozen=True)
class Writing:
    """How prompts are continued."""

    length: int  # tokens that are added at most
    temperature: float = 0.0  # what logits are divided by before a token is drawn; 0: the most probable token is taken
    seed: int = 0  # of the draws, which are the same for a prompt whatever is changed


class _KeysAndValues:
    """Those of the positions that were read, by layer; the library's own takes longer to import."""

    def __init__(self) -> None:
        self._by_layer: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object) -> tuple[Tensor, Tensor]:
        """Add those of the next positions of a layer; all that it now has, time last but one."""
        earlier = self._by_layer.get(layer_idx)
        now = (key_states, value_states)
        if earlier is not None:
            now = torch.cat([earlier[0], key_states], dim=-2), torch.cat([earlier[1], value_states], dim=-2)
        self._by_layer[layer_idx] = now
        return now


class CachedPass:
    """Texts of one length that a model reads, then each of their next tokens alone: keys and values are remembered."""

    def __init__(self, transformer: Transformer, changes: Changes) -> None:
        self._transformer, self._changes = transformer, changes
        self._cache, self._n_read = _KeysAndValues(), 0

    @torch.inference_mode()
    def next_logits(self, ids: Int[Tensor, "batch time"]) -> Float[Tensor, "batch vocab"]:
        """[batch vocab] what the model says of the tokens that follow `ids`, which follow those that it has read."""
        transformer = self._transformer
        stream = transformer.embed(ids.to(transformer.device), start=self._n_read)
        for layer in range(transformer.shape.n_layers):
            change = self._changes.get(layer)
            with transformer.block(layer) as block, nullcontext() if change is None else block.changed(change):
                stream = block(stream, cache=self._cache, start=self._n_read).stream
        self._n_read += ids.shape[1]
        return transformer.logits(stream[:, -1:])[:, 0].float()


def continued(
    transformer: Transformer,
    prompts: Int[np.ndarray, "batch time"],
    numbers: Sequence[int],
    writing: Writing,
    *,
    sayable: Bool[Tensor, " vocab"],
    end: int | None,
    changes: Changes | None = None,
    adjust: Adjust | None = None,
) -> list[Int[np.ndarray, " _"]]:
    """Continue prompts of one length.

    Args:
        transformer: a model that predicts the next token.
        prompts: their ids; with the tokens to come they fit the model's context.
        numbers: of the prompts, by which tokens are drawn.
        writing: how many tokens, and how they are chosen.
        sayable: ids that stand for a token, on the model's device.
        end: the id that ends a text; None where there is none.
        changes: what becomes of neurons, at every position.
        adjust: what becomes of the logits before a token is chosen.

    Returns:
        The ids that were added to each prompt, without the one that ends the text.
    """
    reading = CachedPass(transformer, changes or {})
    ids = torch.from_numpy(prompts.astype(np.int64)).to(transformer.device)
    written, n_prompt = ids, ids.shape[1]
    has_ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    for step in range(writing.length):
        logits = reading.next_logits(ids).masked_fill(~sayable, -torch.inf)
        if adjust is not None:
            logits = adjust(written, logits)
        ids = _chosen(logits, numbers, step, writing)[:, None]
        written = torch.cat([written, ids], dim=1)
        if end is not None:
            has_ended |= ids[:, 0] == end
            if bool(has_ended.all()):
                break
    return [_until(row, end) for row in written[:, n_prompt:].cpu().numpy()]


def same_lengths(prompts: Sequence[Int[np.ndarray, " _"]]) -> Iterator[list[int]]:
    """Numbers of prompts that are continued together: those of one length, in ascending order, some at a time."""
    by_length: dict[int, list[int]] = {}
    for number, prompt in enumerate(prompts):
        by_length.setdefault(len(prompt), []).append(number)
    for _, numbers in sorted(by_length.items()):
        for start in range(0, len(numbers), BATCH_PROMPTS):
            yield numbers[start : start + BATCH_PROMPTS]


def _chosen(
    logits: Float[Tensor, "batch vocab"], numbers: Sequence[int], step: int, writing: Writing
) -> Int[Tensor, " batch"]:
    """The most probable tokens, or drawn ones: the largest of logits plus Gumbel noise is a draw from their softmax."""
    if writing.temperature == 0:
        return logits.argmax(-1)
    draws = [random_stream(writing.seed, Purpose.CONTINUATION, number, step) for number in numbers]
    noise = np.stack([draw.gumbel(size=logits.shape[1]) for draw in draws]).astype(np.float32)
    return (logits / writing.temperature + torch.from_numpy(noise).to(logits.device)).argmax(-1)


def _until(ids: Int[np.ndarray, " time"], end: int | None) -> Int[np.ndarray, " _"]:
    """The ids before the first that ends a text."""
    ends: list[int] = [] if end is None else np.flatnonzero(ids == end).tolist()
    return ids[: ends[0]] if ends else ids
