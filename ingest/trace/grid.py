"""What a model predicts after every layer at every position of a prompt, and one neuron's activations along it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.traces import TRACE_CELLS, PromptActivations, TracedGrid
from neurothek.ingest.errors import nothing_to_trace
from neurothek.ingest.jobs.shortcuts.fits import applied
from neurothek.ingest.lens.logit_lens import Lens, ranks, tops
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.ablation import Ablation, overflowing_value, require_possible
from neurothek.ingest.trace.open_models import ids_of


def trace_grid(
    transformer: Transformer,
    tokenizer: Tokenizer,
    prompt: str,
    *,
    top: int = 5,
    most: int | None = None,
    matrices: Sequence[np.ndarray] = (),
    ablation: Ablation | None = None,
) -> TracedGrid:
    """Read every position of a prompt after every layer ([G] 5; the grid: nostalgebraist 2020).

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        prompt: the text; a BOS is put in front where the tokenizer does so.
        top: tokens listed a cell.
        most: how many positions are read, from the end; None: all.
        matrices: of each state but the last one, float32 [d_model d_model] to read it through, as `trace` takes them;
            none: streams are read as they are.
        ablation: what is done to a neuron meanwhile ([G] 6.1); None: nothing.
    """
    if transformer.shape.is_masked:
        raise nothing_to_trace()
    if ablation is not None:
        require_possible(transformer, ablation)
    ids = ids_of(tokenizer, prompt, context_length=transformer.shape.context_length)
    first = 0 if most is None else max(0, len(ids) - most)
    with torch.inference_mode():
        lens = Lens.of(transformer, tokenizer)
        streams = list(_streams(transformer, ids, first, ablation))
        if ablation is not None and not lens.logits(streams[-1][1]).isfinite().all():
            raise overflowing_value(ablation.value)
        final = tops(lens.logits(streams[-1][1]))[1]
        rows = [
            row
            for layer, (before, after) in enumerate(streams)
            for row in _rows(lens, layer, before, after, final, matrices=matrices, first=first, top=top)
        ]
    cells = pl.DataFrame(rows, schema=dict(TRACE_CELLS.columns))
    return TracedGrid(tokenizer.texts(ids), first, TRACE_CELLS.check(cells))


def _streams(
    transformer: Transformer, ids: np.ndarray, first: int, ablation: Ablation | None
) -> Iterator[tuple[Float[Tensor, "time d_model"], Float[Tensor, "time d_model"]]]:
    """Of each layer the streams before its FFN and after its block, float32, from a position on."""
    stream = transformer.embed(torch.from_numpy(ids.astype(np.int64))[None].to(transformer.device))
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            changed: AbstractContextManager[None] = nullcontext()
            if ablation is not None and ablation.layer == layer:
                changed = block.changed(ablation.change(transformer.device))
            with changed:
                output = block(stream)
        stream = output.stream
        yield output.pre_ffn[0, first:].float(), stream[0, first:].float()


def _rows(
    lens: Lens,
    layer: int,
    before: Float[Tensor, "time d_model"],
    after: Float[Tensor, "time d_model"],
    final: Int[Tensor, " time"],
    *,
    matrices: Sequence[np.ndarray],
    first: int,
    top: int,
) -> list[dict[str, object]]:
    """One layer's rows of TRACE_CELLS."""
    ids = lens.vocabulary.ids
    # What leaves block l is state l + 1; from the last one there is no matrix.
    matrix = matrices[layer + 1] if layer + 1 < len(matrices) else None
    read = after if matrix is None else applied(torch.from_numpy(matrix).to(after.device), after)
    logits = lens.logits(read)
    final_ranks = ranks(logits, final[:, None])[:, 0].tolist()
    rows, probabilities = _likeliest_(logits, top)
    tokens = ids[rows.cpu().numpy()].tolist()
    tops_before = [None] * len(tokens) if matrices else ids[tops(lens.logits(before))[1].cpu().numpy()].tolist()
    cells = zip(tokens, probabilities.tolist(), tops_before, final_ranks, strict=True)
    names = ("token_ids", "probabilities", "token_before", "final_rank")
    return [
        {"layer": layer, "position": position, **dict(zip(names, cell, strict=True))}
        for position, cell in enumerate(cells, start=first)
    ]


def _likeliest_(logits: Float[Tensor, "time vocab"], k: int) -> tuple[Int[Tensor, "time k"], Float[Tensor, "time k"]]:
    """([time k], [time k]) rows of the `k` largest logits, ties to the first, and their probabilities; uses them up.

    Some passes over the logits take a tenth of the time of sorting them.
    """
    largest = logits.amax(1, keepdim=True)
    sums = (logits - largest).exp_().sum(1, keepdim=True).double()
    rows, values = [], []
    for _ in range(min(k, logits.shape[1])):
        value, row = tops(logits)
        rows.append(row)
        values.append(value)
        logits.scatter_(1, row[:, None], -torch.inf)
    exponents = (torch.stack(values, dim=1) - largest).exp().double()
    return torch.stack(rows, dim=1), exponents / sums


@torch.inference_mode()
def activations_along(
    transformer: Transformer, tokenizer: Tokenizer, prompt: str, *, layer: int, neuron: int
) -> PromptActivations:
    """A neuron's coefficient at every position of a prompt, from a pass that ends with its block.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        prompt: the text; the tokenizer's BOS is put in front where it has one, of a masked model its end behind it.
        layer: the neuron's layer.
        neuron: its place in the layer.
    """
    shape = transformer.shape
    closing = [tokenizer.closing_id] if shape.is_masked and tokenizer.closing_id is not None else []
    content = ids_of(tokenizer, prompt, context_length=shape.context_length - len(closing))
    ids = np.concatenate([content, np.array(closing, dtype=np.int32)])
    stream = transformer.embed(torch.from_numpy(ids.astype(np.int64))[None].to(transformer.device))
    for number in range(layer):
        with transformer.block(number) as block:
            stream = block(stream).stream
    with transformer.block(layer) as block:
        coefficients = block(stream).coefficients[0, :, neuron].float()
    return PromptActivations(tokenizer.texts(ids), layer, neuron, tuple(coefficients.tolist()))
