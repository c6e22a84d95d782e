"""The view of a model against transformers' own full model of the same folder, loaded and hooked independently."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import Tensor
from transformers import OPTConfig, OPTForCausalLM, PreTrainedModel
from transformers.activations import ACT2FN

from neurothek.catalog.problems import LimitExceeded, Unavailable
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support.anatomy import Anatomy, Floats, loaded
from tests.support.models import GATED, GEMMAS, KINDS, NEAR_LLAMA, UNTIED, Kind, build, edit_tensors

# Float32 sums of some 100 products in another order (eager attention, no fused kernels) differ by a few 1e-6 at
# streams of size 1 to 10.
close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


def full_model(folder: Path) -> PreTrainedModel:
    """The oracle: the whole model, float32, with the slow attention that materializes its mask."""
    return loaded(folder, attention="eager")


def random_ids(batch: int = 3, time: int = 11) -> Tensor:
    return torch.randint(0, 400, (batch, time), generator=torch.Generator().manual_seed(1))


def run(
    transformer: Transformer, ids: Tensor, lengths: Sequence[int] | None = None
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """States 0..L, coefficients and pre-FFN streams of each layer."""
    states, coefficients, pre = [transformer.embed(ids)], [], []
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            output = block(states[-1], lengths)
        states.append(output.stream)
        coefficients.append(output.coefficients)
        pre.append(output.pre_ffn)
    return states, coefficients, pre


@torch.no_grad()
def oracle(folder: Path, ids: Tensor, mask: Tensor | None = None) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Hidden states (the last after the final norm), coefficients and logits of the full model."""
    model = full_model(folder)
    body, seen = Anatomy(model), []
    for layer in range(len(body.blocks)):
        body.values(layer).register_forward_pre_hook(lambda _, given: seen.append(given[0].reshape(*ids.shape, -1)))
    result = model(ids, attention_mask=mask, output_hidden_states=True)
    return list(result.hidden_states), seen, result.logits


@pytest.fixture(params=(*KINDS, "neox_sequential", *GEMMAS, *NEAR_LLAMA))
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def transformer(kind: Kind, tiny_models: dict[str, Path]) -> Transformer:
    return open_transformer(find(str(tiny_models[kind])))


def tensor(array: Floats) -> Tensor:
    return torch.from_numpy(array).float()


def without_bias(name: str, tensors: dict[str, Tensor]) -> None:
    tensors[f"model.layers.0.mlp.{name}.bias"].zero_()


def test_a_gated_ffn_may_have_biases(tmp_path: Path) -> None:
    """Those of the gate, of the other factor and of what is written count, each of them."""
    folder, ids = build(tmp_path / "biased", "llama", gate_bias=True), random_ids()
    expected_states, expected_coefficients, expected_logits = oracle(folder, ids)
    transformer = open_transformer(find(str(folder)))
    states, coefficients, _ = run(transformer, ids)
    for found, expected in zip(states[:-1], expected_states[:-1], strict=True):
        close(found, expected)
    for found, expected in zip(coefficients, expected_coefficients, strict=True):
        close(found, expected)
    close(transformer.logits(states[-1]), expected_logits)
    for name in ("gate_proj", "up_proj", "down_proj"):
        other = shutil.copytree(folder, tmp_path / name)
        edit_tensors(other, partial(without_bias, name))
        unbiased = open_transformer(find(str(other)))
        assert not torch.allclose(unbiased.logits(run(unbiased, ids)[0][-1]), expected_logits, atol=1e-3)


def test_states_coefficients_and_logits_are_the_full_models(
    kind: Kind, tiny_models: dict[str, Path], transformer: Transformer
) -> None:
    ids = random_ids()
    states, coefficients, _ = run(transformer, ids)
    expected_states, expected_coefficients, expected_logits = oracle(tiny_models[kind], ids)
    for state, expected in zip(states[:-1], expected_states[:-1], strict=True):
        close(state, expected)
    for seen, expected in zip(coefficients, expected_coefficients, strict=True):
        close(seen, expected)
    close(transformer.logits(states[-1]), expected_logits)


def test_right_padding_changes_nothing_at_real_positions(
    kind: Kind, tiny_models: dict[str, Path], transformer: Transformer
) -> None:
    ids, lengths = random_ids(), (11, 4, 1)
    mask = torch.tensor([[position < length for position in range(11)] for length in lengths]).long()
    states, coefficients, _ = run(transformer, ids * mask, lengths)
    _, expected_coefficients, expected_logits = oracle(tiny_models[kind], ids * mask, mask)
    logits = transformer.logits(states[-1])
    for row, length in enumerate(lengths):
        close(logits[row, :length], expected_logits[row, :length])
        for seen, expected in zip(coefficients, expected_coefficients, strict=True):
            close(seen[row, :length], expected[row, :length])
    # Control: a real position does change what comes after it, and nothing before it but in a masked model.
    changed = ids.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 400
    before, after = run(transformer, ids)[0][-1], run(transformer, changed)[0][-1]
    assert torch.equal(before[0, :5], after[0, :5]) != (kind == "bert")
    assert not torch.allclose(before[0, 5:], after[0, 5:])


def test_ffn_output_is_the_sum_of_the_neurons_and_the_bias(
    kind: Kind, tiny_models: dict[str, Path], transformer: Transformer
) -> None:
    ids = random_ids()
    states, coefficients, pre = run(transformer, ids)
    body = Anatomy(full_model(tiny_models[kind]))
    watched = body.watch(ids)
    for layer in range(transformer.shape.n_layers):
        values = transformer.value_vectors(layer)
        with transformer.block(layer) as block:
            written = block(states[layer]).written
        close(written, tensor(body.multipliers(layer, watched[layer])).view(written.shape))
        assert torch.equal(written, coefficients[layer]) == (kind not in (*GEMMAS, "olmo2"))
        update = sum(written[..., i, None] * values[i] for i in range(transformer.shape.d_ffn))
        after = pre[layer] + update + tensor(body.value_bias(layer))
        if body.is_post_norm:
            norm = body.blocks[layer].get_submodule(body.places.ffn_norm)
            after = norm(after).detach()
        close(states[layer + 1], after)


def test_what_stands_before_the_ffn_is_what_the_definitions_call_so(
    kind: Kind, tiny_models: dict[str, Path], transformer: Transformer
) -> None:
    ids = random_ids()
    body = Anatomy(full_model(tiny_models[kind]))
    for found, seen in zip(run(transformer, ids)[2], body.watch(ids), strict=True):
        close(found, body.pre_ffn(seen).reshape(found.shape))


def test_keys_bias_and_norm_give_the_coefficients(
    kind: Kind, tiny_models: dict[str, Path], transformer: Transformer
) -> None:
    body = Anatomy(full_model(tiny_models[kind]))
    states, coefficients, pre = run(transformer, random_ids())
    for layer in range(transformer.shape.n_layers):
        norm = transformer.ffn_norm(layer)
        assert (norm is None) == (kind in ("opt350", "bert", "olmo2"))
        # Beside attention, the FFN of a parallel block reads what enters the block.
        read = states[layer] if kind == "neox" else pre[layer]
        if norm is not None:
            read = norm(read.flatten(0, 1)).view(read.shape)
        expected = ACT2FN[transformer.shape.activation](
            read @ transformer.key_vectors(layer).T + transformer.key_bias(layer)
        )
        if kind in GATED:
            path = "mlp.gate_up_proj.weight" if kind == "phi3" else "mlp.up_proj.weight"
            up = body.blocks[layer].get_parameter(path).detach()[-transformer.shape.d_ffn :]
            expected = expected * (read @ up.T)
        close(coefficients[layer], expected)


def test_gates_are_shown_where_they_decide(kind: Kind, tiny_models: dict[str, Path], transformer: Transformer) -> None:
    """Half of the gates are open, and the sign of the product tells them apart no better than a coin."""
    ids = random_ids()
    watched = Anatomy(full_model(tiny_models[kind])).watch(ids)
    for layer, seen in enumerate(watched):
        with transformer.block(layer) as block:
            output = block(run(transformer, ids)[0][layer])
        assert (output.gates is not None) == transformer.shape.is_gated == (kind in GATED)
        if output.gates is not None:
            close(output.gates, seen["keys out"])
            agree = ((output.gates > 0) == (output.coefficients > 0)).float().mean()
            assert 0.4 < float(agree) < 0.6


def test_norms_are_those_of_the_model(kind: Kind, tiny_models: dict[str, Path], transformer: Transformer) -> None:
    body = Anatomy(full_model(tiny_models[kind]))
    vectors = torch.randn(7, 32, generator=torch.Generator().manual_seed(0)) + 1
    rows = torch.randn(5, 32, generator=torch.Generator().manual_seed(1))
    norms = [(transformer.ffn_norm(layer), body.ffn_norm(layer)) for layer in range(2)]
    for norm, plain in [*norms, (transformer.final_norm(), body.final_norm())]:
        assert (norm is None) == (plain is None)
        if norm is None or plain is None:
            continue
        expected = tensor(plain(vectors.double().numpy()))
        close(norm(vectors), expected)
        close(norm(vectors, bias=False), expected - tensor(plain.beta))
        divisors = torch.tensor([plain.divisor(vector) for vector in vectors.double().numpy()])
        close(norm.divisors(vectors), divisors.float())
        scores = norm.readers_(rows.clone()) @ vectors.T / divisors + (rows @ tensor(plain.beta))[:, None]
        close(scores.float(), rows @ expected.T)


def test_unembedding_after_the_final_norm_gives_the_logits(
    kind: Kind, tiny_models: dict[str, Path], transformer: Transformer
) -> None:
    ids = random_ids()
    last, norm = run(transformer, ids)[0][-1], transformer.final_norm()
    if norm is not None:
        last = norm(last.flatten(0, 1)).view(last.shape)
    assert (norm is None) == (kind in ("opt350", "bert"))
    if kind == "bert":
        head = full_model(tiny_models[kind]).get_submodule("cls.predictions")
        with torch.inference_mode():
            last = head.get_submodule("transform")(last)
        last = last @ transformer.unembedding().T + head.get_parameter("bias").detach()
        close(last, oracle(tiny_models[kind], ids)[2])
    else:
        logits = last @ transformer.unembedding().T
        if kind == "gemma2":
            logits = 5 * torch.tanh(logits / 5)
        close(logits, oracle(tiny_models[kind], ids)[2])


def test_returned_weights_are_float32_rows(kind: Kind, transformer: Transformer) -> None:
    weights = (transformer.value_vectors(0), transformer.key_vectors(1), transformer.unembedding())
    assert [tuple(weight.shape) for weight in weights] == [(128, 32), (128, 32), (400, 32)]
    assert all(weight.is_contiguous() and weight.dtype == torch.float32 for weight in weights)


def test_streamed_is_resident_bit_for_bit(kind: Kind, tmp_path: Path) -> None:
    checkpoint = find(str(build(tmp_path / kind, kind, dtype=torch.float16)))
    kept, streamed = open_transformer(checkpoint), open_transformer(checkpoint, resident=False)
    for _ in range(2):
        for one, other in zip(run(kept, random_ids())[1], run(streamed, random_ids())[1], strict=True):
            assert torch.equal(one, other)
    assert all(parameter.is_meta for layer in streamed._layers for parameter in layer.parameters())
    assert not any(parameter.is_meta for layer in kept._layers for parameter in layer.parameters())


def test_half_precision_files_run_in_float32(kind: Kind, tmp_path: Path) -> None:
    folder = build(tmp_path / kind, kind, dtype=torch.float16)
    transformer = open_transformer(find(str(folder)))
    states, coefficients, _ = run(transformer, random_ids())
    _, expected_coefficients, expected_logits = oracle(folder, random_ids())
    close(transformer.logits(states[-1]), expected_logits)
    for seen, expected in zip(coefficients, expected_coefficients, strict=True):
        close(seen, expected)
    # Of the rows as they are stored; those of Gemma are multiplied by a norm's weights.
    stored = transformer.key_vectors(0)
    assert torch.equal(stored, stored.half().float())


def test_a_run_in_half_precision_gives_half_precision(kind: Kind, tiny_models: dict[str, Path]) -> None:
    transformer = open_transformer(find(str(tiny_models[kind])), dtype=torch.bfloat16)
    states, coefficients, _ = run(transformer, random_ids())
    assert {tensor.dtype for tensor in states + coefficients} == {torch.bfloat16}
    assert transformer.value_vectors(0).dtype == torch.float32


@pytest.mark.parametrize("variant", [{"shard_size": "20KB"}, {"bare_keys": True}], ids=["sharded", "bare"])
def test_other_layouts_of_the_same_weights_are_the_same_model(
    kind: Kind, variant: dict[str, object], tmp_path: Path, transformer: Transformer
) -> None:
    if kind == "bert" and "bare_keys" in variant:
        pytest.skip("BERT's head is more than its token embedding: without it there is no model")
    # A bare model has no unembedding but its token embedding.
    folder = build(tmp_path / kind, kind, tie=True, **variant)  # type: ignore[arg-type] # one variant, one parameter
    checkpoint = find(str(folder))
    assert len(checkpoint.files) > 1 or "bare_keys" in variant
    other = open_transformer(checkpoint)
    assert (other.shape == transformer.shape) or kind in UNTIED
    for one, same in zip(run(transformer, random_ids())[0], run(other, random_ids())[0], strict=True):
        # Kernels may sum in another order where a tensor begins at another offset of its file.
        close(one, same)


def test_an_untied_unembedding_is_its_own(kind: Kind, tmp_path: Path) -> None:
    folder = build(tmp_path / kind, kind, tie=False)
    transformer = open_transformer(find(str(folder)))
    close(transformer.logits(run(transformer, random_ids())[0][-1]), oracle(folder, random_ids())[2])
    tied = open_transformer(find(str(build(tmp_path / "tied", kind, tie=True))))
    width = 16 if kind == "opt350" else 32
    assert transformer.shape.n_parameters_embedding - tied.shape.n_parameters_embedding == 400 * width
    # BERT's has a bias a token as well, besides the one of its head.
    assert transformer.shape.n_parameters - tied.shape.n_parameters == 400 * (width + (kind == "bert"))


def test_shape_says_what_the_model_is(kind: Kind, tiny_models: dict[str, Path], transformer: Transformer) -> None:
    shape = transformer.shape
    assert (shape.n_layers, shape.d_model, shape.d_ffn, shape.n_heads) == (2, 32, 128, 4)
    assert (shape.vocab_size, shape.context_length) == (400, 64)
    # Of a model that sees, too, those of its text half.
    named = full_model(tiny_models[kind]).named_parameters()
    counted = (weights.numel() for name, weights in named if "vision" not in name and "projector" not in name)
    assert shape.n_parameters == sum(counted)
    rows = {"opt": 400 * 32 + 66 * 32, "opt350": 400 * 16 + 66 * 32, "gpt2": 400 * 32 + 64 * 32}
    rows["bert"] = 400 * 32 + 64 * 32 + 2 * 32
    rows |= dict.fromkeys(GEMMAS, 400 * 32)
    assert shape.n_parameters_embedding == rows.get(kind, 2 * 400 * 32)
    positions = dict.fromkeys(GEMMAS, "both") | {"opt350": "post", "bert": "post", "olmo2": "written"}
    assert shape.norm_position == positions.get(kind, "pre")
    assert shape.is_masked == (kind == "bert")
    assert shape.has_parallel_residual == (kind == "neox")
    is_rotary = kind in (*UNTIED, *GEMMAS)
    assert shape.position_encoding == ("rotary" if is_rotary else "learned")
    assert (shape.settings != "") == (is_rotary or kind in ("bert", "gpt2"))


FUNCTIONS = {
    "opt": ("opt", "relu", "m != 0"),
    "opt350": ("opt", "relu", "m != 0"),
    "gpt2": ("gpt2", "gelu_new", "m > 0"),
    "neox": ("gpt_neox", "gelu", "m > 0"),
    "neox_sequential": ("gpt_neox", "gelu", "m > 0"),
    "llama": ("llama", "silu", "gate > 0"),
    "bert": ("bert", "gelu", "m > 0"),
    "gemma2": ("gemma2", "gelu_pytorch_tanh", "gate > 0"),
    "gemma3": ("gemma3_text", "gelu_pytorch_tanh", "gate > 0"),
    "gemma3_seeing": ("gemma3", "gelu_pytorch_tanh", "gate > 0"),
}
FUNCTIONS |= {kind: (kind, "silu", "gate > 0") for kind in NEAR_LLAMA}


def test_shape_says_when_a_neuron_is_active(kind: Kind, transformer: Transformer) -> None:
    shape = transformer.shape
    assert (shape.architecture, shape.activation, shape.activation_rule) == FUNCTIONS[kind]
    assert shape.has_exact_zeros == shape.is_non_negative == (shape.activation == "relu")


def test_what_says_nothing_is_no_part_of_an_identity(kind: Kind, transformer: Transformer) -> None:
    """Runs of families that have no further settings keep the key they had before there were any."""
    known = set(transformer.shape.identity())
    assert {"architecture", "n_heads", "has_exact_zeros"} < known
    assert ("settings" in known) == (kind in (*UNTIED, *GEMMAS, "bert"))
    assert ("has_parallel_residual" in known) == (kind == "neox")


def test_a_gate_with_exact_zeros_makes_products_of_either_sign(tmp_path: Path) -> None:
    folder = build(tmp_path / "relu", "llama", activation="relu")
    transformer = open_transformer(find(str(folder)))
    shape = transformer.shape
    assert (shape.has_exact_zeros, shape.is_non_negative, shape.activation_rule) == (True, False, "gate > 0")
    with transformer.block(0) as block:
        output = block(transformer.embed(random_ids()))
    assert output.gates is not None
    assert torch.equal(output.coefficients == 0, output.gates <= 0)
    assert float(output.coefficients.min()) < 0 < float(output.coefficients.max())


def test_sizes_in_memory(kind: Kind, tiny_models: dict[str, Path], transformer: Transformer) -> None:
    block = Anatomy(full_model(tiny_models[kind])).blocks[1]
    numbers = sum(parameter.numel() for parameter in block.parameters())
    assert transformer.block_bytes(1) == 4 * numbers
    assert transformer.embedding_bytes == 4 * transformer.shape.n_parameters_embedding


@pytest.mark.parametrize("kind", ["opt", "opt350", "gpt2"])
def test_a_position_table_of_zeros_is_no_position_encoding(kind: Kind, tmp_path: Path) -> None:
    transformer = open_transformer(find(str(build(tmp_path / kind, kind, positions=False))))
    assert transformer.shape.position_encoding == "none"
    same = torch.full((1, 5), 7)
    assert torch.equal(transformer.embed(same)[0, 0], transformer.embed(same)[0, 4])


def test_another_activation_has_its_own_rule(tmp_path: Path) -> None:
    folder = build(tmp_path / "gelu", "opt", activation="gelu")
    transformer = open_transformer(find(str(folder)))
    assert (transformer.shape.activation, transformer.shape.activation_rule) == ("gelu", "m > 0")
    close(run(transformer, random_ids())[1][1], oracle(folder, random_ids())[1][1])


def test_layers_without_biases_and_norm_weights(tmp_path: Path) -> None:
    config = OPTConfig(
        vocab_size=400,
        hidden_size=32,
        ffn_dim=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        enable_bias=False,
        layer_norm_elementwise_affine=False,
    )
    OPTForCausalLM(config).save_pretrained(tmp_path)
    transformer = open_transformer(find(str(tmp_path), name="bare"))
    close(transformer.logits(run(transformer, random_ids())[0][-1]), oracle(tmp_path, random_ids())[2])
    norm, final = transformer.ffn_norm(0), transformer.final_norm()
    assert norm is not None
    assert final is not None
    assert torch.equal(norm.gamma, torch.ones(32))
    assert torch.equal(final.beta, torch.zeros(32))
    assert torch.equal(transformer.key_bias(1), torch.zeros(64))


def test_ids_of_either_width_embed_alike(transformer: Transformer) -> None:
    ids = random_ids()
    assert torch.equal(transformer.embed(ids), transformer.embed(ids.int()))


def test_a_sequence_beyond_the_context_is_refused(transformer: Transformer) -> None:
    transformer.embed(random_ids(1, 64))
    with pytest.raises(
        LimitExceeded, match=r"^sequences of 65 tokens are too long for a model that reads 64; use .*64$"
    ):
        transformer.embed(random_ids(1, 65))


@pytest.mark.parametrize("device", ["cuda:99", "nonsense"])
def test_a_device_that_is_not_there_is_refused(device: str, tiny_models: dict[str, Path]) -> None:
    with pytest.raises(Unavailable, match=f"^the device '{device}' is not available"):
        open_transformer(find(str(tiny_models["opt"])), device=device)


def test_a_wrong_shape_is_noticed(transformer: Transformer) -> None:
    with pytest.raises(TypeCheckError):
        transformer.embed(random_ids()[0])
    with transformer.block(0) as block, pytest.raises(TypeCheckError):
        block(random_ids())
