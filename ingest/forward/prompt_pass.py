"""Prompts run through a model block by block, and looked at where their positions are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward.batches import RightPadded, padded
from neurothek.ingest.forward.stream_store import MemoryStreams, Streams
from neurothek.ingest.models.families.sub_modules import Part, Passed, Stream
from neurothek.ingest.models.transformer import BlockOutput, Transformer


@dataclass(frozen=True, eq=False)
class PromptBatch(RightPadded):
    """Prompts that run together."""

    places: list[int]  # which prompts, as places among all
    prompts: Sequence[Prompt]  # these

    def at_positions(self, of: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch width"]:
        """[batch width] the vector of each prompt at its position, float32."""
        columns = torch.tensor([prompt.position for prompt in self.prompts], device=of.device)
        return of[torch.arange(len(columns), device=of.device), columns].float()


@dataclass(frozen=True, eq=False)
class Seen:
    """One block at work on one batch."""

    batch: PromptBatch  # the batch
    entered: Stream  # the stream that entered
    output: BlockOutput  # what the block made of it
    parts: Mapping[Part, Passed]  # what its parts read and returned, where they are watched


Look = Callable[[Seen], Mapping[str, Tensor]]
"""Takes from a batch what is wanted of it, each a tensor with a row a prompt."""


def prompt_batches(prompts: Sequence[Prompt], *, batch_tokens: int) -> list[PromptBatch]:
    """The prompts, shortest first, as many a batch as fit `batch_tokens` when padded, at least one.

    Prompts of like length go together, so that little is padded; the batches depend on the prompts and on
    `batch_tokens` alone.
    """
    order = sorted(range(len(prompts)), key=lambda place: (len(prompts[place].tokens), place))
    groups: list[list[int]] = []
    for place in order:
        # The prompt that comes last is the longest so far.
        if not groups or (len(groups[-1]) + 1) * len(prompts[place].tokens) > batch_tokens:
            groups.append([])
        groups[-1].append(place)
    result, start = [], 0
    for places in groups:
        group = [prompts[place] for place in places]
        lengths = tuple(len(prompt.tokens) for prompt in group)
        result.append(PromptBatch(start, padded([prompt.tokens for prompt in group]), lengths, places, group))
        start += sum(lengths)
    return result


def run(
    transformer: Transformer,
    prompts: Sequence[Prompt],
    look_at: Callable[[int], Look],
    *,
    batch_tokens: int,
    n_layers: int | None = None,
) -> Iterator[dict[str, Tensor]]:
    """What is looked at of each layer in turn; streams wait in memory.

    Args:
        transformer: the model.
        prompts: the prompts, at least one.
        look_at: layer -> what is looked at there.
        batch_tokens: padded ids a batch holds at most.
        n_layers: how many layers, from the first; None: all.
    """
    cut, streams = prompt_batches(prompts, batch_tokens=batch_tokens), MemoryStreams()
    for layer in range(transformer.shape.n_layers if n_layers is None else n_layers):
        yield run_layer(transformer, cut, layer, look_at(layer), entering=streams, leaving=streams)


def run_layer(
    transformer: Transformer,
    cut: Sequence[PromptBatch],
    layer: int,
    look: Look,
    *,
    entering: Streams,
    leaving: Streams | None,
    watches_parts: bool = False,
) -> dict[str, Tensor]:
    """Run one block over all prompts, so that its weights are needed once.

    Args:
        transformer: the model.
        cut: the prompts in batches, at least one.
        layer: which block.
        look: takes what is wanted.
        entering: the streams that the block before left; not asked of layer 0.
        leaving: takes the streams that this one leaves; None: nobody wants them.
        watches_parts: whether the block's parts are watched.

    Returns:
        What was looked at, in the order of the prompts.
    """
    n_prompts = sum(len(batch.places) for batch in cut)
    columns: dict[str, Tensor] = {}
    with transformer.block(layer) as block:
        for batch in cut:
            stream = transformer.embed(batch.tokens) if layer == 0 else entering.load(batch)
            nothing: AbstractContextManager[Mapping[Part, Passed]] = nullcontext({})
            with block.parts.watched(stream) if watches_parts else nothing as parts:
                output = block(stream, batch.lengths)
            if leaving is not None:
                leaving.save(batch, output.stream)
            for name, rows in look(Seen(batch, stream, output, parts)).items():
                if name not in columns:
                    columns[name] = rows.new_empty(n_prompts, *rows.shape[1:])
                columns[name][batch.places] = rows
    return columns
