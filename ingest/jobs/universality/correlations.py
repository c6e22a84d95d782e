"""Correlations of all neurons of two models at the same positions, and with randomly rotated activations.

A layer's activations lie in a file as unit vectors, less their means, so that the product of two is their correlation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.forward.stream_store import MemoryStreams
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.array_files import keep, mapped_array, staged
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

GROUP = 2_048
"""Neurons of a layer that are rotated together, at most, and of either model that are compared at once.

A wider layer is rotated in random groups of equal size: a direction still mixes a thousand neurons or more, so that
none of them stands out in it, while a rotation takes GROUP^2 numbers and its products stay below those of activations.
"""

POSITIONS = 4_096
"""Positions whose float32 products are summed before they are added to float64 sums."""

_ELEMENTS = 1 << 22
"""Numbers that are standardized at once."""


def write_activations(
    transformer: Transformer, text: Corpus, folder: Path, *, batch_tokens: int, n_layers: int | None = None
) -> Float[np.ndarray, "n_layers d_ffn"]:
    """[n_layers d_ffn] the spread of each neuron over the counted positions of a text, as `standardize_` says it.

    The activations themselves lie in `folder` afterwards.

    Args:
        transformer: the model.
        text: what it reads.
        folder: where its layers' files go.
        batch_tokens: padded ids that a batch holds at most.
        n_layers: how many layers are read, from the first; None: all.
    """
    streams, spreads = MemoryStreams(), []
    folder.mkdir(parents=True, exist_ok=True)
    for layer in range(transformer.shape.n_layers if n_layers is None else n_layers):
        # The weights leave outside of inference: theirs are no tensors of one.
        activations = staged(_activations(folder, layer))
        with transformer.block(layer) as block, activations as path, torch.inference_mode():
            shape = (transformer.shape.d_ffn, text.n_counted)
            held = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
            start = 0
            for batch in batches(text, range(text.n_sequences), batch_tokens=batch_tokens):
                output = block(transformer.embed(batch.tokens) if layer == 0 else streams.load(batch))
                streams.save(batch, output.stream)
                for coefficients, length in zip(output.coefficients, batch.lengths, strict=True):
                    counted = coefficients[batch.first_counted : length].float().cpu().numpy()
                    held[:, start : start + len(counted)] = counted.T
                    start += len(counted)
            spreads.append(standardize_(held))
            held.flush()
            del held
    return np.stack(spreads)


def standardize_(activations: Float[np.ndarray, "n positions"]) -> Float[np.ndarray, " n"]:
    """[n] each row's length less its mean, below 0 where its number of largest size is; rows become unit vectors.

    Of equal numbers it is 0, and these become zeros.
    """
    at_once = max(1, _ELEMENTS // activations.shape[1])
    spreads = np.zeros(len(activations))
    for start in range(0, len(activations), at_once):
        rows = slice(start, start + at_once)
        held = activations[rows].astype(np.float64)
        # Of equal numbers the mean is off by rounding, and what is left is no variation.
        is_constant = (held == held[:, :1]).all(axis=1)
        signs = np.where(held.max(axis=1) + held.min(axis=1) < 0, -1.0, 1.0)
        held -= held.mean(axis=1, keepdims=True)
        held[is_constant] = 0
        lengths = np.sqrt(np.square(held).sum(axis=1))
        activations[rows] = held / np.where(lengths > 0, lengths, 1)[:, None]
        spreads[rows] = signs * lengths
    return spreads


def groups(n: int, *, seed: int, layer: int, largest: int = GROUP) -> list[Int[np.ndarray, " members"]]:
    """The neurons of a layer that are rotated together: all of them, or random groups of equal size; each ascending."""
    if n <= largest:
        return [np.arange(n)]
    order = random_stream(seed, Purpose.ROTATION, layer, 0).permutation(n)
    return [np.sort(part) for part in np.array_split(order, -(-n // largest))]


def rotation(n: int, *, seed: int, layer: int, group: int) -> Float[np.ndarray, "n n"]:
    """[n n] float64: an orthogonal matrix, any one as likely as any other."""
    drawn = random_stream(seed, Purpose.ROTATION, layer, 1 + group).standard_normal((n, n))
    q, r = np.linalg.qr(drawn)
    # A factor's signs are the library's choice: with those of the diagonal it is uniform.
    return q * np.where(np.diag(r) < 0, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Layers:
    """The activations of one model as `write_activations` left them, and its rotated directions."""

    folder: Path  # where they lie
    spreads: Float[np.ndarray, "n_layers d_ffn"]  # what `write_activations` returned
    seed: int  # of the rotations
    device: torch.device
    largest: int = GROUP

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return len(self.spreads)

    @property
    def d_ffn(self) -> int:
        """How many neurons each has."""
        return int(self.spreads.shape[1])

    def groups(self, layer: int) -> list["Group"]:
        """The neurons of a layer that are rotated together."""
        parts = groups(self.d_ffn, seed=self.seed, layer=layer, largest=self.largest)
        return [Group(self, layer, number, members) for number, members in enumerate(parts)]

    def write_rotations(self) -> None:
        """Write the rotated directions of all layers, those that are there already left as they are."""
        for layer in range(self.n_layers):
            for group in self.groups(layer):
                if not group.path.exists():
                    keep(group.path, group.directions())


@dataclass(frozen=True, eq=False)
class Group:
    """Neurons of one layer that are rotated together."""

    of: Layers
    layer: int
    number: int  # its number in the layer
    members: Int[np.ndarray, " members"]  # neurons within the layer, ascending

    @property
    def path(self) -> Path:
        """The file of its rotated directions."""
        return self.of.folder / f"rotated-{self.layer:04d}-{self.number:04d}.npy"

    @property
    def places(self) -> Int[np.ndarray, " members"]:
        """[members] places of the neurons among all of the model."""
        return self.layer * self.of.d_ffn + self.members

    @property
    def spreads(self) -> Float[np.ndarray, " members"]:
        """[members] the spread of each neuron, as `standardize_` says it."""
        spreads: np.ndarray = self.of.spreads[self.layer, self.members]
        return spreads

    @cached_property
    def is_constant(self) -> Bool[Tensor, " members"]:
        """[members] whether a neuron's activation is the same at all positions."""
        return torch.from_numpy(self.spreads == 0).to(self.of.device)

    def unit_activations(self) -> Iterator[Float[Tensor, "members positions"]]:
        """[members positions] its unit vectors, some positions at a time."""
        held = mapped_array(_activations(self.of.folder, self.layer))
        is_all = len(self.members) == self.of.d_ffn
        members = torch.from_numpy(self.members)
        for start in range(0, held.shape[1], POSITIONS):
            part = held[:, start : start + POSITIONS]
            yield (part if is_all else part[members]).to(self.of.device)

    def directions(self) -> Float[np.ndarray, "members directions"]:
        """[members directions] float32: what makes of correlations with the neurons those with rotated directions.

        A direction r has the activation sum_k r_k a_k: its correlation with x is sum_k r_k s_k corr(x, a_k) over its
        length, s_k the length of a_k less its mean. Where all neurons are constant it is zero. Neurons are rotated with
        what they are strongest at above 0, so that no number depends on the sign that is a gated neuron's convention.
        """
        rotated = rotation(len(self.members), seed=self.of.seed, layer=self.layer, group=self.number)
        rotated *= self.spreads[:, None]
        within = correlations(self, self).cpu().numpy()
        lengths = np.sqrt(np.maximum(0, np.einsum("kj,kj->j", rotated, within @ rotated)))
        directions: np.ndarray = rotated / np.where(lengths > 0, lengths, 1)
        return directions.astype(np.float32)


def correlations(one: Group, other: Group) -> Float[Tensor, "members other_members"]:
    """[members other_members] float64, 0 for constant neurons."""
    sums = torch.zeros(len(one.members), len(other.members), dtype=torch.float64, device=one.of.device)
    for mine, theirs in zip(one.unit_activations(), other.unit_activations(), strict=True):
        sums += mine @ theirs.T
    return sums.clamp_(-1, 1)


@dataclass(frozen=True, eq=False)
class Closest:
    """For each of some neurons the best of the other model so far."""

    places: Int[np.ndarray, " n"]  # its place among all of the other model; -1 before there is one
    correlations: Float[np.ndarray, " n"]  # float64, with its sign; nan likewise
    nulls: Float[np.ndarray, " n"]  # the largest with a rotated direction; nan likewise

    @classmethod
    def none(cls, n: int) -> "Closest":
        """Of neurons that have none yet."""
        return cls(np.full(n, -1), np.full(n, np.nan), np.full(n, np.nan))

    def take_(self, rows: Int[np.ndarray, " rows"], other: "Closest", *, either_sign: bool) -> None:
        """Put the closest of more neurons in place of those that are no closer; ties by place."""
        before, now = (_size(one.correlations, either_sign) for one in (self[rows], other))
        is_known = other.places >= 0
        is_better = (now > before) | ((now == before) & (other.places < self.places[rows]))
        is_better = is_known & (is_better | (self.places[rows] < 0))
        taken = rows[is_better]
        self.places[taken], self.correlations[taken] = other.places[is_better], other.correlations[is_better]
        self.nulls[rows] = np.fmax(self.nulls[rows], other.nulls)

    def __getitem__(self, rows: Int[np.ndarray, " rows"] | slice) -> "Closest":
        return Closest(self.places[rows], self.correlations[rows], self.nulls[rows])


def compare_layer(
    one: Layers, layer: int, other: Layers, *, either_sign: bool, other_layers: Sequence[int] | None = None
) -> tuple[Closest, Closest]:
    """The best of the other model for each neuron of a layer, and the best of the layer for each of the other model.

    Args:
        one: the model whose layer it is.
        layer: the layer.
        other: the other model.
        either_sign: whether correlations are compared by size.
        other_layers: which layers of the other model; None: all.
    """
    forth, back = Closest.none(one.d_ffn), Closest.none(other.n_layers * other.d_ffn)
    with torch.inference_mode():
        for theirs in range(other.n_layers) if other_layers is None else other_layers:
            for group in one.groups(layer):
                for met in other.groups(theirs):
                    products = correlations(group, met)
                    forth.take_(group.members, _closest(products, group, met, either_sign), either_sign=either_sign)
                    back.take_(met.places, _closest(products.T, met, group, either_sign), either_sign=either_sign)
    return forth, back


def _closest(products: Float[Tensor, "mine theirs"], mine: Group, theirs: Group, either_sign: bool) -> Closest:
    """The best of one group for each neuron of another, by the correlations of all."""
    sizes = (products.abs() if either_sign else products.clone()).masked_fill_(theirs.is_constant, -torch.inf)
    at = sizes.argmax(dim=1)
    correlation = products.gather(1, at[:, None])[:, 0]
    rotated = products.float() @ mapped_array(theirs.path).to(products.device)
    null = (rotated.abs_() if either_sign else rotated).amax(dim=1).double().clamp_(-1, 1)
    is_none = mine.is_constant | theirs.is_constant.all()
    correlation[is_none], null[is_none] = torch.nan, torch.nan
    places = np.where(is_none.cpu().numpy(), -1, theirs.places[at.cpu().numpy()])
    return Closest(places, correlation.cpu().numpy(), null.cpu().numpy())


def _size(values: Float[np.ndarray, " n"], either_sign: bool) -> Float[np.ndarray, " n"]:
    return np.abs(values) if either_sign else values


def _activations(folder: Path, layer: int) -> Path:
    return folder / f"activations-{layer:04d}.npy"
