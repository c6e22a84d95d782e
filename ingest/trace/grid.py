"""What a model predicts after every layer at every position of a prompt, and one neuron's activations along it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.traces import TRACE_CELL_NEURONS, TRACE_CELLS, PromptActivations, TracedGrid
from neurothek.ingest.errors import nothing_to_trace
from neurothek.ingest.jobs.events.sub_updates import contributions, dominant
from neurothek.ingest.jobs.shortcuts.fits import applied
from neurothek.ingest.lens.logit_lens import Lens, ranks, tops
from neurothek.ingest.models.families.blocks import BlockOutput
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
    n_dominant: int = 0,
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
        n_dominant: dominant neurons listed a cell ([G] 5).
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
        passed = list(_blocks(transformer, ids, first, ablation, n_dominant=n_dominant))
        end = lens.logits(passed[-1].after)
        if ablation is not None and not end.isfinite().all():
            raise overflowing_value(ablation.value)
        final = tops(end)[1]
        rows = _rows(lens, passed, final, matrices=matrices, first=first, top=top)
        neurons = _dominant_rows(transformer, lens, passed, final, first=first)
    cells = pl.DataFrame(rows, schema=dict(TRACE_CELLS.columns))
    return TracedGrid(tokenizer.texts(ids), first, TRACE_CELLS.check(cells), TRACE_CELL_NEURONS.check(neurons))


@dataclass(frozen=True, eq=False)
class PassedBlock:
    """A block at the positions that are read."""

    before: Float[Tensor, "time d_model"]  # the streams before its FFN, float32
    after: Float[Tensor, "time d_model"]  # those after it
    dominant: "DominantNeurons | None"  # None where none were asked for


@dataclass(frozen=True, eq=False)
class DominantNeurons:
    """The largest contributions of a layer at the positions that are read, largest first."""

    neurons: Int[Tensor, "time k"]  # their places in the layer
    coefficients: Float[Tensor, "time k"]  # their activations
    written: Float[Tensor, "time k"]  # what their value vectors are multiplied by
    shares: Float[Tensor, "time k"]  # of the layer's summed contributions, float64; not a number where that is 0

    @classmethod
    def of(cls, transformer: Transformer, layer: int, output: BlockOutput, *, first: int, k: int) -> "DominantNeurons":
        """The `k` largest of a block's output, or all of a layer that has fewer."""
        written = output.written[0, first:].float()
        contributed = contributions(written, torch.linalg.vector_norm(transformer.value_vectors(layer), dim=1))
        neurons = dominant(contributed, k=min(k, transformer.shape.d_ffn)).neurons
        return cls(
            neurons,
            output.coefficients[0, first:].float().gather(1, neurons),
            written.gather(1, neurons),
            contributed.gather(1, neurons).double() / contributed.sum(1, dtype=torch.float64)[:, None],
        )


def _blocks(
    transformer: Transformer, ids: np.ndarray, first: int, ablation: Ablation | None, *, n_dominant: int
) -> Iterator[PassedBlock]:
    """Each block from a position on."""
    stream = transformer.embed(torch.from_numpy(ids.astype(np.int64))[None].to(transformer.device))
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            changed: AbstractContextManager[None] = nullcontext()
            if ablation is not None and ablation.layer == layer:
                changed = block.changed(ablation.change(transformer.device))
            with changed:
                output = block(stream)
        stream = output.stream
        largest = DominantNeurons.of(transformer, layer, output, first=first, k=n_dominant) if n_dominant else None
        yield PassedBlock(output.pre_ffn[0, first:].float(), stream[0, first:].float(), largest)


def _dominant_rows(
    transformer: Transformer, lens: Lens, passed: Sequence[PassedBlock], final: Int[Tensor, " time"], *, first: int
) -> pl.DataFrame:
    """Rows of TRACE_CELL_NEURONS."""
    # What is added to every token alike moves none of them.
    centred = lens.vocabulary.rows[final] - lens.vocabulary.centre()
    readers = {"centred_final": centred, "direct_final": lens.readers(centred, passed[-1].after)}
    frames = [pl.DataFrame(schema=dict(TRACE_CELL_NEURONS.columns))]
    for layer, largest in enumerate(block.dominant for block in passed):
        if largest is None:
            continue
        n_positions, k = largest.neurons.shape
        values = transformer.value_vectors(layer)[largest.neurons]
        columns = {
            "layer": np.full(n_positions * k, layer),
            "position": np.repeat(np.arange(first, first + n_positions), k),
            "rank": np.tile(np.arange(1, k + 1), n_positions),
            "neuron": largest.neurons.flatten().cpu().numpy(),
            "coefficient": largest.coefficients.flatten().cpu().numpy(),
            "share": largest.shares.flatten().cpu().numpy(),
        }
        for name, reader in readers.items():
            added = largest.written * torch.einsum("tkd,td->tk", values, reader)
            columns[name] = added.flatten().cpu().numpy()
        frames.append(pl.DataFrame(columns).cast(pl.Schema(TRACE_CELL_NEURONS.columns)))
    return pl.concat(frames).with_columns(pl.col("share").fill_nan(None))


def _rows(
    lens: Lens,
    passed: Sequence[PassedBlock],
    final: Int[Tensor, " time"],
    *,
    matrices: Sequence[np.ndarray],
    first: int,
    top: int,
) -> list[dict[str, object]]:
    """Rows of TRACE_CELLS, some layers at once: reading the vocabulary takes longer than a few products with it."""
    at_once = max(1, _LOGITS_AT_ONCE // (len(final) * len(lens.vocabulary.ids)))
    rows = []
    for start in range(0, len(passed), at_once):
        blocks = passed[start : start + at_once]
        read = torch.cat([_as_read(matrices, layer, block) for layer, block in enumerate(blocks, start)])
        before = None if matrices else torch.cat([block.before for block in blocks])
        cells = _cells(lens, read, before, final.repeat(len(blocks)), top=top)
        places = product(range(start, start + len(blocks)), range(first, first + len(final)))
        rows += [{"layer": layer, "position": at, **cell} for (layer, at), cell in zip(places, cells, strict=True)]
    return rows


_LOGITS_AT_ONCE = 1 << 24
"""Logits that are held at once: 64 MB."""


def _as_read(matrices: Sequence[np.ndarray], layer: int, block: PassedBlock) -> Float[Tensor, "time d_model"]:
    """The streams after a block as the lens reads them: through the matrix of that state, if there is one."""
    # What leaves block l is state l + 1; from the last one there is no matrix.
    matrix = matrices[layer + 1] if layer + 1 < len(matrices) else None
    return block.after if matrix is None else applied(torch.from_numpy(matrix).to(block.after.device), block.after)


def _cells(
    lens: Lens,
    read: Float[Tensor, "cells d_model"],
    before: Float[Tensor, "cells d_model"] | None,
    final: Int[Tensor, " cells"],
    *,
    top: int,
) -> Iterator[dict[str, object]]:
    """What is predicted of each cell: where it is in the grid is left to say."""
    ids = lens.vocabulary.ids
    logits = lens.logits(read)
    final_ranks = ranks(logits, final[:, None])[:, 0].tolist()
    rows, probabilities = _likeliest_(logits, top)
    tokens = ids[rows.cpu().numpy()].tolist()
    del logits
    tops_before = [None] * len(tokens) if before is None else ids[tops(lens.logits(before))[1].cpu().numpy()].tolist()
    names = ("token_ids", "probabilities", "token_before", "final_rank")
    for cell in zip(tokens, probabilities.tolist(), tops_before, final_ranks, strict=True):
        yield dict(zip(names, cell, strict=True))


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
