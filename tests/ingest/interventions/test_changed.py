"""Losses of changed models, against transformers' own models whose weights were edited by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN

from neurothek.ingest.forward.batches import RightPadded, padded
from neurothek.ingest.interventions.changed import Changes, _read, changed_losses
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Change, Transformer, open_transformer
from tests.support.anatomy import PLACES, loaded
from tests.support.models import CAUSAL_KINDS, Kind, build

N_LAYERS, D_FFN = 3, 24
SEQUENCES = [np.random.default_rng(7).integers(5, 390, size=length) for length in (17, 3, 30, 1, 30)]


def close(one: Tensor, other: np.ndarray, tolerance: float = 2e-5) -> None:
    """Float32 sums in another order, through three blocks."""
    np.testing.assert_allclose(one.numpy(), other, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module", params=(*CAUSAL_KINDS, "gemma2", "phi3", "granite"))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("changed") / request.param, request.param, n_layers=N_LAYERS, d_ffn=D_FFN, seed=3
    )


@pytest.fixture(scope="module")
def transformer(folder: Path) -> Transformer:
    return open_transformer(find(str(folder)))


def batch(sequences: Sequence[np.ndarray] = SEQUENCES) -> RightPadded:
    return RightPadded(0, padded(sequences), tuple(map(len, sequences)))


def own_layers(folder: Path) -> tuple[nn.Module, list[tuple[nn.Module, bool]]]:
    """The model as transformers loads it, and of each block the second map of its FFN, with how it lies."""
    model = loaded(folder)
    places = PLACES[model.config.model_type]
    blocks = model.get_submodule(places.blocks)
    return model, [(block.get_submodule(places.values), places.is_transposed) for block in blocks.children()]


def nll(model: nn.Module, sequences: Sequence[np.ndarray] = SEQUENCES) -> tuple[np.ndarray, list[np.ndarray]]:
    """One sequence and one position after the other: -log p of the next id, and log p of all ids."""
    found, said = [], []
    for sequence in sequences:
        with torch.no_grad():
            logits = model(torch.from_numpy(sequence)[None]).logits[0].double().numpy()
        for position in range(len(sequence) - 1):
            row = logits[position]
            log_p = row - row.max() - np.log(np.exp(row - row.max()).sum())
            said.append(log_p)
            found.append(-log_p[sequence[position + 1]])
    return np.array(found), said


def edited(folder: Path, what: Mapping[int, Sequence[tuple[int, float]]], *, to: float | None = None) -> nn.Module:
    """A model whose FFNs write a neuron's value vector so many times over, and `to` times it beside, at every token."""
    model, maps = own_layers(folder)
    for layer, neurons in what.items():
        module, is_transposed = maps[layer]
        weight = module.weight
        assert isinstance(weight, nn.Parameter)
        for neuron, factor in neurons:
            row = weight.data[neuron] if is_transposed else weight.data[:, neuron]
            written = row.clone()
            row.mul_(factor)
            if to is not None:
                # A bias of the second map is added at every token.
                before = module.bias.data if isinstance(module.bias, nn.Parameter) else torch.zeros(len(written))
                module.bias = nn.Parameter(before + to * written)
    return model


def change(neurons: Sequence[int], **how: object) -> Change:
    return Change(torch.tensor(neurons, dtype=torch.int64), **{"values": None, **how})  # type: ignore[arg-type]  # fields of a change


def test_the_model_as_it_is(folder: Path, transformer: Transformer) -> None:
    (untouched,) = changed_losses(transformer, batch(), [])
    expected, _ = nll(loaded(folder))
    close(untouched.nll, expected)
    assert not untouched.kl.any()


def test_turned_off_is_a_row_of_zeros(folder: Path, transformer: Transformer) -> None:
    off = {0: [3, 11], 2: [0, 23]}
    ways: list[Changes] = [{layer: change(some, factor=0.0) for layer, some in off.items()}]
    untouched, changed = changed_losses(transformer, batch(), ways)
    model = edited(folder, {layer: [(neuron, 0.0) for neuron in some] for layer, some in off.items()})
    expected, said = nll(model)
    close(changed.nll, expected)
    before, said_before = nll(loaded(folder))
    kl = [(np.exp(one) * (one - other)).sum() for one, other in zip(said_before, said, strict=True)]
    np.testing.assert_allclose(changed.kl, kl, rtol=1e-3, atol=2e-5)
    assert np.abs(before - expected).max() > 1e-3
    close(untouched.nll, before)


def test_half_is_half_a_row(folder: Path, transformer: Transformer) -> None:
    _, changed = changed_losses(transformer, batch(), [{1: change([5, 6, 7], factor=0.5)}])
    expected, _ = nll(edited(folder, {1: [(5, 0.5), (6, 0.5), (7, 0.5)]}))
    close(changed.nll, expected)


def test_set_after_the_non_linearity_is_a_bias(folder: Path, transformer: Transformer) -> None:
    _, changed = changed_losses(transformer, batch(), [{0: change([2], values=torch.tensor([3.0]))}])
    expected, _ = nll(edited(folder, {0: [(2, 0.0)]}, to=3.0))
    close(changed.nll, expected, 1e-4)


def test_set_before_the_non_linearity_passes_through_it(folder: Path, transformer: Transformer) -> None:
    value = 1.7
    ways: list[Changes] = [{1: change([4], values=torch.tensor([value]), is_before=True)}]
    if transformer.shape.is_gated:
        # An FFN with gates has no such value: the job refuses it by name before.
        with pytest.raises(AssertionError):
            changed_losses(transformer, batch(), ways)
        return
    _, changed = changed_losses(transformer, batch(), ways)
    passed = float(ACT2FN[transformer.shape.activation](torch.tensor(value)))
    expected, _ = nll(edited(folder, {1: [(4, 0.0)]}, to=passed))
    close(changed.nll, expected, 1e-4)


def test_ways_beside_each_other_are_each_alone(transformer: Transformer) -> None:
    ways: list[Changes] = [
        {2: change([1], factor=0.0)},
        {},
        {0: change([1, 2], factor=0.0), 2: change([1], factor=2.0)},
    ]
    together = changed_losses(transformer, batch(), ways)
    for way, beside in zip(ways, together[1:], strict=True):
        _, alone = changed_losses(transformer, batch(), [way])
        assert torch.equal(alone.nll, beside.nll)
    assert torch.equal(together[2].nll, together[0].nll)
    assert not together[2].kl.any()


def test_positions_that_are_not_chosen_are_left_alone(transformer: Transformer) -> None:
    where = torch.zeros(5, 30, dtype=torch.bool)
    where[:, 10:] = True
    off = change(range(D_FFN), factor=0.0, where=where)
    untouched, changed = changed_losses(transformer, batch(), [{1: off}])
    is_after = torch.cat([torch.arange(len(sequence) - 1) >= 10 for sequence in SEQUENCES])
    assert torch.equal(changed.nll[~is_after], untouched.nll[~is_after])
    assert (changed.nll[is_after] != untouched.nll[is_after]).all()
    everywhere = changed_losses(transformer, batch(), [{1: change(range(D_FFN), factor=0.0)}])[1]
    of_all = changed_losses(
        transformer, batch(), [{1: change(range(D_FFN), factor=0.0, where=torch.ones_like(where))}]
    )[1]
    assert torch.equal(everywhere.nll, of_all.nll)


def test_a_range_of_positions_is_those_positions_of_every_sequence(transformer: Transformer) -> None:
    where = torch.zeros(5, 30, dtype=torch.bool)
    where[:, 3:9] = True
    by_mask = changed_losses(transformer, batch(), [{1: change(range(D_FFN), factor=0.0, where=where)}])[1]
    by_range = changed_losses(transformer, batch(), [{1: change(range(D_FFN), factor=0.0, positions=range(3, 9))}])[1]
    assert torch.equal(by_mask.nll, by_range.nll)
    both = {1: change(range(D_FFN), factor=0.0, where=where, positions=range(20, 30))}
    untouched, neither = changed_losses(transformer, batch(), [both])
    assert torch.equal(untouched.nll, neither.nll)


def test_a_change_to_what_it_is_changes_nothing_to_the_bit(transformer: Transformer) -> None:
    untouched, same, nobody = changed_losses(
        transformer, batch(), [{1: change([3], factor=1.0)}, {0: change([], factor=0.0)}]
    )
    for other in (same, nobody):
        assert torch.equal(untouched.nll, other.nll)
        assert not other.kl.any()


def test_masses_are_probabilities_of_groups(folder: Path, transformer: Transformer) -> None:
    groups = [torch.tensor([7, 300]), torch.arange(transformer.shape.vocab_size)]
    (untouched,) = changed_losses(transformer, batch(), [], groups=groups)
    _, said = nll(loaded(folder))
    np.testing.assert_allclose(untouched.mass[:, 0], [np.exp(row[[7, 300]]).sum() for row in said], rtol=1e-4)
    np.testing.assert_allclose(untouched.mass[:, 1], 1, rtol=1e-5)


def test_a_sequence_of_one_predicts_nothing(transformer: Transformer) -> None:
    untouched, changed = changed_losses(transformer, batch([np.array([7])]), [{0: change([0], factor=0.0)}])
    assert len(untouched.nll) == len(changed.kl) == 0


def test_slices_of_positions_are_the_whole(transformer: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[Changes] = [{0: change([1], factor=0.0)}]
    whole = changed_losses(transformer, batch(), ways, groups=[torch.tensor([3])])
    monkeypatch.setattr("neurothek.ingest.interventions.changed.SLICE_LOGITS", 3 * transformer.shape.vocab_size)
    for one, other in zip(whole, changed_losses(transformer, batch(), ways, groups=[torch.tensor([3])]), strict=True):
        for name in ("nll", "kl", "mass"):
            torch.testing.assert_close(getattr(one, name), getattr(other, name), rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("kind", ["opt", "llama"])
def test_a_neuron_that_writes_a_token_raises_it(tmp_path: Path, kind: Kind) -> None:
    """Planted: a value vector that is one token's row of the unembedding."""
    transformer = open_transformer(find(str(build(tmp_path / kind, kind, n_layers=2, d_ffn=D_FFN))))
    token, neuron = 33, 5
    layer = transformer.shape.n_layers - 1
    own = transformer.unembedding()
    with transformer.block(layer) as block:
        weight = block._values.weight
        assert isinstance(weight, Tensor)
        with torch.no_grad():
            weight[:, neuron] = 20 * own[token]
    group = [torch.tensor([token])]
    on = {layer: change([neuron], values=torch.tensor([3.0]))}
    off = {layer: change([neuron], factor=0.0)}
    others = {layer: change([neuron, neuron + 1], values=torch.tensor([0.0, 3.0]))}
    _, turned_on, turned_off, beside = changed_losses(transformer, batch(), [on, off, others], groups=group)
    assert turned_on.mass.mean() > 3 * turned_off.mass.mean()
    assert turned_on.mass.mean() > 3 * beside.mass.mean()


def test_a_divergence_next_to_0_is_no_rounding_of_large_logits() -> None:
    """Of a single token, in a vocabulary of many: as far from the same in float64 as a divergence can be below 0."""
    n_tokens, generator = 49_152, torch.Generator().manual_seed(5)
    own = 6 * torch.randn(4, n_tokens, generator=generator) + 20
    streams = [own[None], (own + 1e-4 * torch.randn(own.shape, generator=generator))[None]]
    # A model whose streams are its logits.
    logits = Mock(spec=Transformer, shape=Mock(vocab_size=n_tokens), device=torch.device("cpu"))
    logits.logits = lambda stream: stream.clone()
    held = RightPadded(0, torch.zeros(1, 4, dtype=torch.int64), (4,))
    untouched, changed = _read(logits, held, streams, ())
    before, after = (stream[0, :3].double().log_softmax(1) for stream in streams)
    expected = (before.exp() * (before - after)).sum(1)
    assert not untouched.kl.any()
    np.testing.assert_allclose(changed.kl.numpy(), expected.numpy(), atol=5e-6)
