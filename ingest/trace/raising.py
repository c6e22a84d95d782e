"""The neurons of all layers that raise a token most at one position, and what is left of it without them ([ours])."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.traces import RaisingOrder
from neurothek.ingest.jobs.events.layers import Layer
from neurothek.ingest.lens.logit_lens import Lens, ranks
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.switched import Switch, last_streams

# Scores of so many neurons for the whole vocabulary are held at once: 50 MB for the 50,265 tokens of OPT.
_BLOCK = 256


def centre_of(lens: Lens) -> Float[Tensor, " d_model"]:
    """[d_model] the mean of the tokens' embeddings: times a vector it is the mean of the vector's scores."""
    return lens.vocabulary.rows.mean(0, dtype=torch.float64).float()


def written_ranks(
    lens: Lens,
    coefficients: Float[Tensor, " neurons"],
    values: Float[Tensor, "neurons d_model"],
    rows: Int[Tensor, " asked"],
) -> list[list[int | None]]:
    """Of each neuron the ranks of some tokens among all by m (e . v), from 1; None where m is 0."""
    found: list[list[int | None]] = []
    for m, some in zip(torch.split(coefficients, _BLOCK), torch.split(values, _BLOCK), strict=True):
        scores = (m[:, None] * some) @ lens.vocabulary.rows.T
        of_tokens = ranks(scores, rows.expand(len(scores), -1)).tolist()
        found += [own if one else [None] * len(own) for own, one in zip(of_tokens, m.tolist(), strict=True)]
    return found


def raising_rows(
    lens: Lens,
    transformer: Transformer,
    layers: Sequence[Layer],
    coefficients: Sequence[Float[Tensor, "one d_ffn"]],
    *,
    raised: Int[Tensor, " one"],
    limit: int,
    sort: RaisingOrder,
) -> list[dict[str, Any]]:
    """The first rows of TRACE_RAISING, without effects.

    A neuron raises the token if m (e . v) exceeds its mean over the vocabulary: what is added to every token alike
    moves none of them.

    Args:
        lens: the end of the model.
        transformer: the model.
        layers: every layer at the position.
        coefficients: of each layer those of all its neurons there.
        raised: the token, as a row of the vocabulary.
        limit: how many rows.
        sort: which come first; of equal ones the lower layer and neuron.
    """
    readers = torch.stack([lens.vocabulary.rows[raised[0]], centre_of(lens)], dim=1)
    rows: list[dict[str, Any]] = []
    for number, (layer, (own,)) in enumerate(zip(layers, coefficients, strict=True)):
        values = transformer.value_vectors(number)
        raw, common = (own[:, None] * (values @ readers)).T
        size = own.abs() * torch.linalg.vector_norm(values, dim=1)
        columns = {"coefficient": own, "contribution": size, "share": size.double() / layer.total[0]}
        columns |= {"score": raw, "centred": raw - common}
        raises = columns["centred"] > 0
        keys = torch.where(raises, columns[sort].double(), -torch.inf)
        first = keys.sort(descending=True, stable=True).indices[: min(limit, int(raises.sum()))]
        lists = {"neuron": first.tolist(), **{name: one[first].tolist() for name, one in columns.items()}}
        rows += [
            {"layer": number, **dict(zip(lists, cells, strict=True))} for cells in zip(*lists.values(), strict=True)
        ]
    rows.sort(key=lambda row: (-row[sort], row["layer"], row["neuron"]))
    rows = [{"rank": rank, **row} for rank, row in enumerate(rows[:limit], start=1)]
    for number, group in groupby(sorted(rows, key=itemgetter("layer")), key=itemgetter("layer")):
        some = list(group)
        neurons = [row["neuron"] for row in some]
        written = written_ranks(lens, coefficients[number][0, neurons], _values(transformer, number, neurons), raised)
        for row, (rank,) in zip(some, written, strict=True):
            row |= {"token_rank": rank, "probability_off": None, "logit_off": None}
    return rows


def add_effects_(
    lens: Lens,
    transformer: Transformer,
    rows: Sequence[dict[str, Any]],
    *,
    ids: Int[np.ndarray, " time"],
    raised: Int[Tensor, " one"],
) -> None:
    """Fill in what the token's probability and logit are with the neuron of each row set to 0 at every position."""
    switches = [Switch(row["layer"], row["neuron"], 0.0) for row in rows]
    changes = [{one.layer: one.change(transformer.device)} for one in switches]
    _, *streams = last_streams(transformer, ids, changes).streams
    for row, stream in zip(rows, streams, strict=True):
        row["logit_off"], row["probability_off"] = said_of(lens, stream, raised)


def said_of(lens: Lens, stream: Float[Tensor, "one d_model"], row: Int[Tensor, " one"]) -> tuple[float, float]:
    """Logit and probability of a token, a row of the vocabulary, where a stream leaves the last block."""
    logits = lens.logits(stream)[0].double()
    return float(logits[row[0]]), float(logits.softmax(0)[row[0]])


def _values(transformer: Transformer, layer: int, neurons: Sequence[int]) -> Float[Tensor, "neurons d_model"]:
    return transformer.value_vectors(layer)[list(neurons)]
