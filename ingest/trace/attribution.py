"""Which neurons make a model predict one token and not another: directly, by gradients, and by switching them off."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.traces import TRACE_ATTRIBUTIONS, Attributed, AttributionOrder
from neurothek.ingest.errors import nothing_to_trace
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.ablation import Ablation, last_streams
from neurothek.ingest.trace.open_models import ids_of, place_of

N_ABLATED = 50
"""Neurons that are switched off one by one, if asked."""

LEAST_CORRELATED = 3


def attributed(
    transformer: Transformer,
    tokenizer: Tokenizer,
    prompt: str,
    *,
    position: int | None = None,
    toward: int | None = None,
    instead: int | None = None,
    limit: int = 20,
    sort: AttributionOrder = "relevance",
    ablates: bool = False,
) -> Attributed:
    """Rank the neurons of all layers by their effect on the logit of one token less that of another.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        prompt: the text; a BOS is put in front where the tokenizer does so.
        position: the position after which the next token is read, as `trace` takes it; None: the last.
        toward: id of the token; None: the one that the model predicts.
        instead: id of the token whose logit is taken off; None: the mean logit of the vocabulary.
        limit: how many neurons are listed, the largest effects of either sign.
        sort: which effect.
        ablates: whether the first `N_ABLATED` of them are switched off one by one.
    """
    if transformer.shape.is_masked:
        raise nothing_to_trace()
    ids = ids_of(tokenizer, prompt, context_length=transformer.shape.context_length)
    place = place_of(ids, position)
    lens = Lens.of(transformer, tokenizer)
    # Whatever the caller is in the middle of, such as a notebook that turned gradients off.
    with torch.inference_mode(mode=False), torch.enable_grad():
        # Attention looks back only: what comes after the position changes nothing there.
        passed = _passed(transformer, ids[: place + 1])
        last = passed.stream[0, -1].detach().float()
        final = int(lens.logits(last[None])[0].argmax())
        rows = [final if toward is None else _row(lens, toward), *([] if instead is None else [_row(lens, instead)])]
        difference_row = _difference_row(lens, rows)
        reader, constant = _reader(lens, difference_row, last)
        gradients = torch.autograd.grad(passed.stream[0, -1].float() @ reader.clone(), passed.activations)
    with torch.inference_mode():
        effects = _effects(transformer, passed, gradients, reader)
        frame = _first(effects, limit=limit, sort=sort)
        off = _ablated(transformer, ids[: place + 1], frame, lens, difference_row) if ablates else []
    difference = float(last @ reader) + constant
    ablated = [difference - one for one in off]
    frame = frame.with_columns(pl.Series("ablated", [*ablated, *[None] * (frame.height - len(ablated))], pl.Float64))
    return Attributed(
        tokens=tokenizer.texts(ids),
        position=place,
        final_token=int(lens.vocabulary.ids[final]),
        toward=int(lens.vocabulary.ids[rows[0]]),
        instead=instead,
        difference=difference,
        direct_total=float(effects["direct"].sum()),
        neurons=TRACE_ATTRIBUTIONS.check(frame.cast(pl.Schema(TRACE_ATTRIBUTIONS.columns))),
        correlation_direct=_correlation(frame["direct"].to_list(), ablated),
        correlation_relevance=_correlation(frame["relevance"].to_list(), ablated),
    )


@dataclass(frozen=True, eq=False)
class _Passed:
    """A pass of a prompt that gradients follow back."""

    stream: Float[Tensor, "one time d_model"]  # what leaves the last block
    activations: list[Tensor]  # by layer [time d_ffn], or [1 time d_ffn]: the neurons' activations, in the graph
    divisors: list[Tensor | None]  # by layer what the FFN's output is divided by at the last position; None: nothing


def _passed(transformer: Transformer, ids: Int[np.ndarray, " time"]) -> _Passed:
    tokens = torch.from_numpy(ids.astype(np.int64))[None].to(transformer.device)
    # Whatever made it, a stream of its own is what gradients reach.
    stream = transformer.embed(tokens).clone().requires_grad_()
    activations: list[Tensor] = []
    divisors: list[Tensor | None] = []
    with ExitStack() as blocks:
        for layer in range(transformer.shape.n_layers):
            block = blocks.enter_context(transformer.block(layer))
            stream, of_layer, divisor = block.with_relevance(stream)
            activations.append(of_layer)
            divisors.append(divisor)
        return _Passed(stream, activations, divisors)


def _effects(
    transformer: Transformer, passed: _Passed, gradients: Sequence[Tensor], reader: Float[Tensor, " d_model"]
) -> dict[str, Float[np.ndarray, "layers neurons"]]:
    """By column [layers neurons] the activation at the last position, and both effects, float64."""
    columns: dict[str, list[Tensor]] = {"coefficient": [], "direct": [], "relevance": []}
    for layer, (activations, gradient) in enumerate(zip(passed.activations, gradients, strict=True)):
        width = activations.shape[-1]
        values, divisor = activations.detach().reshape(-1, width).float(), passed.divisors[layer]
        written = values[-1] if divisor is None else values[-1] / divisor
        columns["coefficient"].append(values[-1])
        columns["direct"].append((written * (transformer.value_vectors(layer) @ reader)).double())
        columns["relevance"].append((values * gradient.reshape(-1, width)).sum(0).double())
    return {name: torch.stack(of_layers).cpu().numpy() for name, of_layers in columns.items()}


_BLOCK = 4096


def _difference_row(lens: Lens, rows: Sequence[int]) -> Float[Tensor, " d_model"]:
    """The unembedding's row of the first token less that of the second, or less the mean of all."""
    vocabulary = lens.vocabulary.rows
    if len(rows) > 1:
        return vocabulary[rows[0]] - vocabulary[rows[1]]
    # Sums of blocks are as exact in float32 as the rows, and ten times as fast as one in float64.
    total = torch.stack([vocabulary[start : start + _BLOCK].sum(0) for start in range(0, len(vocabulary), _BLOCK)]).sum(
        0, dtype=torch.float64
    )
    return vocabulary[rows[0]] - (total / len(vocabulary)).float()


def _reader(
    lens: Lens, difference_row: Float[Tensor, " d_model"], last: Float[Tensor, " d_model"]
) -> tuple[Float[Tensor, " d_model"], float]:
    """What reads the difference in the last stream, and what the final norm's bias adds to it: its divisor is held."""
    constant = 0.0 if lens.norm is None else float(difference_row @ lens.norm.beta)
    return lens.readers(difference_row[None], last[None])[0], constant


def _row(lens: Lens, token_id: int) -> int:
    """The token as a row of the vocabulary."""
    return int(np.searchsorted(lens.vocabulary.ids, token_id))


def _first(
    effects: dict[str, Float[np.ndarray, "layers neurons"]], *, limit: int, sort: AttributionOrder
) -> pl.DataFrame:
    """The neurons with the largest effects of either sign; of equal ones the lower layer and neuron."""
    sizes = np.abs(effects[sort])
    order = np.argsort(-sizes, axis=None, kind="stable")[:limit]
    layers, neurons = np.unravel_index(order, sizes.shape)
    columns = {name: one[layers, neurons] for name, one in effects.items()}
    return pl.DataFrame({"rank": np.arange(1, len(order) + 1), "layer": layers, "neuron": neurons, **columns})


def _ablated(
    transformer: Transformer, ids: Int[np.ndarray, " time"], frame: pl.DataFrame, lens: Lens, difference_row: Tensor
) -> list[float]:
    """The difference with each of the first neurons set to 0 at every position, and the final norm as it then is."""
    ablations = [
        Ablation(layer, neuron, 0.0) for layer, neuron in frame.head(N_ABLATED).select("layer", "neuron").rows()
    ]
    changes = [{one.layer: one.change(transformer.device)} for one in ablations]
    _, *streams = last_streams(transformer, ids, changes).streams
    differences = []
    for stream in streams:
        reader, constant = _reader(lens, difference_row, stream[0].float())
        differences.append(float(stream[0].float() @ reader) + constant)
    return differences


def _correlation(effects: Sequence[float], ablated: Sequence[float]) -> float | None:
    """Of Pearson; None of fewer than three, or where one of them does not vary."""
    if len(ablated) < LEAST_CORRELATED:
        return None
    pairs = np.array([effects[: len(ablated)], ablated])
    return float(np.corrcoef(pairs)[0, 1]) if (pairs.std(axis=1) > 0).all() else None
