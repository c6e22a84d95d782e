"""Mean activations on two sets of prompts, how far they lie apart, and how far they do under shuffled labels."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.tables.contrasts import CONTRAST_NEURONS, SIGNIFICANT, Contrasted
from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.forward.prompt_pass import Look, Seen
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.models.units import FfnNeurons, addresses
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from neurothek.ingest.request import Positions

N_SHUFFLES = 200

N_CONTROLS = 20
"""Shuffles that are taken for the true labels, one after the other, to see how many neurons are significant then."""

BATCH_TOKENS = 4_096
"""Padded ids of a batch, fixed, so that a contrast has the same bits on one device, whoever asks for it."""

_BINS_PER_SD = 100
"""Sizes of z are counted to two decimals."""

_HAIR = 1e-3
"""Of a bin: more than float32 loses where z is below 100, and less than anybody sees."""


def contrasted(
    transformer: Transformer,
    a: Sequence[Prompt],
    b: Sequence[Prompt],
    *,
    positions: Positions,
    n_shuffles: int = N_SHUFFLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Contrasted:
    """How far the activations of every neuron on two sets of prompts lie apart, beside shuffled labels (CNA).

    z is the difference of a neuron's means over A and B, in standard deviations of that difference over all labelings.
    p is the share of the z of all neurons under shuffled labels that are at least as large, to two decimals, and q is p
    after Benjamini and Hochberg [ours]: neurons that are seldom active have large z by chance, at the rate at
    which shuffles show it.

    Args:
        transformer: the model.
        a: prompts of A, at least two; the `position` of each is that of its last own token.
        b: those of B.
        positions: `last` for activations at that position, `all` for their mean over a prompt's own tokens.
        n_shuffles: how often labels are shuffled.
        seed: of the shuffles.
        progress: receives progress reports, a step a layer; None: nothing does.
    """
    watcher = progress or Silent()
    watcher.start("contrast", transformer.shape.n_layers)
    weights = difference_weights(shuffled_labels(len(a), len(b), n_shuffles + N_CONTROLS, seed=seed))
    of_labelings = weights.float()
    # All in torch: what threads of another library's products do next to its own takes half of the time.
    tallied = torch.zeros(0, dtype=torch.int64)
    of_layers, of_bins = [], []
    with torch.inference_mode():
        for activations in _activations(transformer, [*a, *b], positions):
            scaled = standardized(activations, weights[:, 0])
            bins = _bins(scaled.float().T @ of_labelings)
            is_tested = ~scaled[0].isnan()
            tallied = _added(tallied, bins[is_tested, 1 : 1 + n_shuffles].flatten().bincount())
            of_bins.append(torch.cat([bins[:, :1], bins[:, 1 + n_shuffles :]], dim=1))
            z = weights[:, 0] @ scaled
            of_layers.append(torch.stack([activations[: len(a)].mean(0), activations[len(a) :].mean(0), z]))
            watcher.advance()
    watcher.finish()
    mean_a, mean_b, z_true = torch.cat(of_layers, dim=1)
    is_tested = ~z_true.isnan()
    above = _at_least(tallied)
    p, q = torch.full_like(z_true, torch.nan), torch.full_like(z_true, torch.nan)
    of_true, *of_controls = torch.cat(of_bins)[is_tested].T.contiguous()
    p[is_tested] = above[of_true.clamp(max=len(tallied))]
    q[is_tested] = benjamini_hochberg(p[is_tested])
    measured = {"mean_a": mean_a, "mean_b": mean_b, "z": z_true, "p": p, "q": q}
    return Contrasted(
        n_tokens_a=tuple(prompt.n_prefix for prompt in a),
        n_tokens_b=tuple(prompt.n_prefix for prompt in b),
        neurons=_neurons(transformer, measured),
        n_significant_shuffled=tuple(n_significant(bins, above) for bins in of_controls),
    )


def _neurons(transformer: Transformer, measured: Mapping[str, Float[Tensor, " units"]]) -> pl.DataFrame:
    """Rows of CONTRAST_NEURONS but for the contrast's name and the run; null is what nan was."""
    layers, numbers = addresses(FfnNeurons(transformer))
    columns = {"layer": layers, "neuron": numbers, **{name: column.numpy() for name, column in measured.items()}}
    schema = CONTRAST_NEURONS.schema
    return pl.DataFrame([pl.Series(name, column, schema[name], nan_to_null=True) for name, column in columns.items()])


def shuffled_labels(n_a: int, n_b: int, n_shuffles: int, *, seed: int) -> Bool[np.ndarray, "labelings prompts"]:
    """[labelings prompts] whether each prompt is taken for one of A: the true labels, then shuffled ones."""
    true = np.arange(n_a + n_b) < n_a
    shuffled = [random_stream(seed, Purpose.SHUFFLED_LABELS, number).permutation(true) for number in range(n_shuffles)]
    return np.stack([true, *shuffled])


def difference_weights(labels: Bool[np.ndarray, "labelings prompts"]) -> Float[Tensor, "prompts labelings"]:
    """[prompts labelings] float64: what makes of values the mean over A less the mean over B."""
    n_a = labels.sum(axis=1, keepdims=True)
    return torch.from_numpy(np.where(labels, 1 / n_a, -1 / (labels.shape[1] - n_a)).T.copy())


def standardized(
    activations: Float[Tensor, "prompts units"], weights: Float[Tensor, " prompts"]
) -> Float[Tensor, "prompts units"]:
    """[prompts units] activations less their mean, in standard deviations of a difference of means over all labelings.

    Over all of them its mean is 0 and its variance s^2 (1 / n_a + 1 / n_b), s^2 that of a sample of all prompts. The
    weights of a labeling make z of what is returned.

    Args:
        activations: float64, of one layer.
        weights: float64, of a labeling.

    Returns:
        Nan for a unit whose activation is the same on all prompts.
    """
    centered = activations - activations.mean(0)
    # torch's own std along the first of two dimensions takes longer than all labelings' products.
    variance = centered.square().sum(0) / (len(activations) - 1)
    # Weights are 1 / n_a or -1 / n_b: the sum of their squares is 1 / n_a + 1 / n_b.
    spread = (variance * weights.square().sum()).sqrt()
    # Of equal activations rounding alone makes differences.
    spread[(activations.amax(0) == activations.amin(0)) | (spread == 0)] = torch.nan
    return centered.div_(spread)


def benjamini_hochberg(p: Float[Tensor, " _"]) -> Float[Tensor, " _"]:
    """The least share of false discoveries at which each is called one (Benjamini and Hochberg 1995)."""
    order = p.argsort()
    raw = p[order] * len(p) / torch.arange(1, len(p) + 1, dtype=p.dtype)
    q = torch.empty_like(p)
    q[order] = raw.flip(0).cummin(0).values.flip(0).clamp(max=1)
    return q


def n_significant(bins: Int[Tensor, " units"], above: Float[Tensor, " bins_and_above"]) -> int:
    """How many units have a q of at most `SIGNIFICANT`, as `benjamini_hochberg` of their p has it.

    p is the same in a bin, so that the last unit of a bin decides on all of it, and nothing is sorted.

    Args:
        bins: [units] bin of each unit.
        above: [bins and above] p of each bin.
    """
    counts = bins.clamp(max=len(above) - 1).bincount(minlength=len(above))
    n_at_least = counts.flip(0).cumsum(0).flip(0)
    raw = torch.where(counts > 0, above * len(bins) / n_at_least, torch.inf)
    return int(counts[raw.cummin(0).values <= SIGNIFICANT].sum())


def _activations(
    transformer: Transformer, prompts: Sequence[Prompt], positions: Positions
) -> Iterator[Float[Tensor, "prompts units"]]:
    """[prompts units] float64, layer by layer."""
    look: Look = _at_last if positions == "last" else _mean_over_own
    for columns in prompt_pass.run(transformer, prompts, lambda _: look, batch_tokens=BATCH_TOKENS):
        yield columns["activations"].double().cpu()


def _at_last(seen: Seen) -> dict[str, Tensor]:
    return {"activations": seen.batch.at_positions(seen.output.coefficients)}


def _mean_over_own(seen: Seen) -> dict[str, Tensor]:
    coefficients = seen.output.coefficients
    places = torch.arange(coefficients.shape[1], device=coefficients.device)
    weights = torch.stack(
        [
            ((places <= prompt.position) & (places >= prompt.position - prompt.own_position)) / prompt.n_prefix
            for prompt in seen.batch.prompts
        ]
    )
    return {"activations": torch.einsum("bt,btw->bw", weights, coefficients.float())}


def _bins(z: Float[Tensor, "units labelings"]) -> Int[Tensor, "units labelings"]:
    """[units labelings] int32 bins of the sizes of z, which is overwritten; of nan any number."""
    # Equal z of two labelings are summed in two orders: a hair brings both into one bin.
    return z.abs_().mul_(_BINS_PER_SD).add_(_HAIR).to(torch.int32)


def _at_least(tallied: Int[Tensor, " bins"]) -> Float[Tensor, " bins_and_above"]:
    """Share of what was tallied that lies in each bin or above it, one more counted; last, above all of them."""
    above = torch.cat([tallied.flip(0).cumsum(0).flip(0), tallied.new_zeros(1)])
    return (1 + above).double() / (1 + int(tallied.sum()))


def _added(one: Int[Tensor, " _one"], other: Int[Tensor, " _other"]) -> Int[Tensor, " _longer"]:
    """Two tallies together, however far each goes."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    total = longer.clone()
    total[: len(shorter)] += shorter
    return total
