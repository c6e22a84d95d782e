"""Each kind of measurement against transformers itself, or a plain loop over the weights in the file."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from catalog.progress import Silent
from ingest.golden.entries import Measurement, TextLoss, ValueToken, WeightNorm, WindowPerplexity
from ingest.golden.errors import BosUnknown, NeuronBeyond
from ingest.golden.remeasured import Remeasured, measure_again
from ingest.models import checkpoints
from ingest.models import tokenizer as tokenization
from ingest.models.transformer import open_transformer
from tests.support.models import CAUSAL_KINDS, Kind

TEXT = "bus dor school, 12 and more"


def measured(folder: Path, asked: Measurement) -> Remeasured:
    checkpoint = checkpoints.find(str(folder))
    return measure_again(asked, open_transformer(checkpoint), tokenization.load(folder), Silent())


def library_model(folder: Path) -> PreTrainedModel:
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    model.eval()
    return model


@torch.inference_mode()
def library_loss(folder: Path, ids: list[int]) -> float:
    """Transformers' own loss."""
    given = torch.tensor([ids])
    return float(library_model(folder)(given, labels=given).loss)


@pytest.mark.parametrize("kind", CAUSAL_KINDS)
def test_the_loss_of_a_text_is_that_of_transformers(tiny_models: dict[str, Path], kind: Kind) -> None:
    folder = tiny_models[kind]
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ids = [tokenizer.bos_token_id, *tokenizer(TEXT, add_special_tokens=False).input_ids]
    found = measured(folder, TextLoss(TEXT, tokenizer.bos_token))
    # Both in float32, summed in another order.
    assert found.value == pytest.approx(library_loss(folder, ids), rel=1e-5)
    assert found.token is None
    # The control: without what is put in front it is another number.
    assert found.value != pytest.approx(library_loss(folder, ids[1:]), rel=1e-4)


def plain_probabilities(vector: list[float], model: PreTrainedModel, n_tokens: int) -> list[float]:
    """softmax(E LN(v)) by loops, in double precision."""
    head = model.get_output_embeddings().weight.double().tolist()
    norm = model.get_submodule("transformer.ln_f")
    assert isinstance(norm, torch.nn.LayerNorm)
    mean = sum(vector) / len(vector)
    variance = sum((x - mean) ** 2 for x in vector) / len(vector)
    gains, biases = norm.weight.double().tolist(), norm.bias.double().tolist()
    normed = [
        gain * (x - mean) / math.sqrt(variance + norm.eps) + bias
        for x, gain, bias in zip(vector, gains, biases, strict=True)
    ]
    logits = [sum(e * x for e, x in zip(row, normed, strict=True)) for row in head[:n_tokens]]
    largest = max(logits)
    exponents = [math.exp(logit - largest) for logit in logits]
    return [one / sum(exponents) for one in exponents]


@pytest.mark.parametrize("neuron", [0, 77, 127])
def test_the_first_token_of_a_value_vector_is_that_of_a_plain_loop(tiny_models: dict[str, Path], neuron: int) -> None:
    folder = tiny_models["gpt2"]
    model, tokenizer = library_model(folder), tokenization.load(folder)
    weight = model.get_submodule("transformer.h.1.mlp.c_proj").weight
    assert isinstance(weight, Tensor)
    probabilities = plain_probabilities(weight[neuron].double().tolist(), model, tokenizer.vocab_size)
    first = probabilities.index(max(probabilities))
    found = measured(folder, ValueToken(1, neuron, "asked of nobody"))
    assert found.token == tokenizer.frame()["text"][first]
    assert found.value == pytest.approx(probabilities[first], rel=1e-4)


def norm_of(vector: list[float]) -> float:
    """Of a vector after its mean is taken off, by a loop."""
    mean = sum(vector) / len(vector)
    return math.sqrt(sum((x - mean) ** 2 for x in vector))


def test_norms_are_of_folded_and_centred_weights(tiny_models: dict[str, Path]) -> None:
    folder = tiny_models["neox"]
    layer = library_model(folder).get_submodule("gpt_neox.layers.1")
    key = layer.get_submodule("mlp.dense_h_to_4h").weight
    value = layer.get_submodule("mlp.dense_4h_to_h").weight
    gain = layer.get_submodule("post_attention_layernorm").weight
    assert isinstance(key, Tensor)
    assert isinstance(value, Tensor)
    assert isinstance(gain, Tensor)
    folded = [k * g for k, g in zip(key[70].tolist(), gain.tolist(), strict=True)]
    written = value[:, 70].tolist()
    assert measured(folder, WeightNorm(1, 70, "in")).value == pytest.approx(norm_of(folded), rel=1e-5)
    assert measured(folder, WeightNorm(1, 70, "out")).value == pytest.approx(norm_of(written), rel=1e-5)
    # The controls: as they are stored they have other norms.
    assert norm_of(folded) != pytest.approx(float(key[70].detach().norm()), rel=1e-4)
    assert norm_of(written) != pytest.approx(float(value[:, 70].detach().norm()), rel=1e-4)


def test_perplexity_weights_windows_by_all_their_ids(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    folder, context = tiny_models["gpt2"], 64
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join([TEXT] * 12))
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ids = tokenizer(text.read_text(), add_special_tokens=False).input_ids
    windows = [ids[start : start + context] for start in range(0, len(ids), context)]
    assert len(windows) > 2
    assert 1 < len(windows[-1]) < context
    total = sum(library_loss(folder, window) * len(window) for window in windows)
    found = measured(folder, WindowPerplexity(str(text)))
    assert found.value == pytest.approx(math.exp(total / len(ids)), rel=1e-4)


def test_what_the_model_lacks_is_named(tiny_models: dict[str, Path]) -> None:
    folder = tiny_models["gpt2"]
    with pytest.raises(BosUnknown, match="has no token '<begin>'"):
        measured(folder, TextLoss(TEXT, "<begin>"))
    for layer, neuron in ((2, 0), (0, 128), (-1, 0)):
        with pytest.raises(NeuronBeyond, match=rf"no neuron L{layer}N{neuron} in 2 layers of 128 neurons"):
            measured(folder, WeightNorm(layer, neuron, "in"))
