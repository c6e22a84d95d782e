"""Each kind of measurement against transformers itself, or a plain loop over the weights in the file."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from neurothek.catalog.problems import NotFound
from neurothek.catalog.progress import Silent
from neurothek.ingest.golden.checked import Remeasured, measure_again
from neurothek.ingest.golden.entries import (
    CosineMoment,
    Measurement,
    TextLoss,
    TokenCount,
    ValueToken,
    WeightCosine,
    WeightNorm,
    WindowPerplexity,
)
from neurothek.ingest.models import checkpoints
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.transformer import open_transformer
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
    texts = tokenizer.frame()["text"].to_list()
    first, *then = sorted(zip(probabilities, texts, strict=True), key=lambda pair: -pair[0])[:10]
    # How many tokens are asked for after the first is all that matters of them here.
    found = measured(folder, ValueToken(1, neuron, "asked of nobody", (("", 0.0),) * 9))
    assert found.token == first[1]
    assert found.value == pytest.approx(first[0], rel=1e-4)
    assert [text for text, _ in found.then] == [text for _, text in then]
    assert [share for _, share in found.then] == pytest.approx([share for share, _ in then], rel=1e-4)
    assert measured(folder, ValueToken(1, neuron, "asked of nobody")).then == ()


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


def centred(vector: list[float]) -> list[float]:
    mean = sum(vector) / len(vector)
    return [x - mean for x in vector]


def cosine(one: list[float], other: list[float]) -> float:
    product = sum(x * y for x, y in zip(one, other, strict=True))
    return product / math.sqrt(sum(x * x for x in one) * sum(y * y for y in other))


def test_the_cosine_of_what_is_read_and_written_is_that_of_a_plain_loop(tiny_models: dict[str, Path]) -> None:
    model = library_model(tiny_models["gpt2"]).get_submodule("transformer.h.1")
    key, value, gain = (model.get_submodule(name).weight for name in ("mlp.c_fc", "mlp.c_proj", "ln_2"))
    assert isinstance(key, Tensor)
    assert isinstance(value, Tensor)
    assert isinstance(gain, Tensor)
    folded = [k * g for k, g in zip(key[:, 9].tolist(), gain.tolist(), strict=True)]
    expected = cosine(centred(folded), centred(value[9].tolist()))
    assert measured(tiny_models["gpt2"], WeightCosine(1, 9)).value == pytest.approx(expected, abs=1e-5)


def test_moments_of_cosines_are_those_of_a_plain_loop_over_all_rows(tiny_models: dict[str, Path]) -> None:
    """As TransformerLens folds and centres: gains first, then along the stream, then over the vocabulary."""
    kinds: tuple[Kind, ...] = ("gpt2", "neox")
    for kind in kinds:
        model = library_model(tiny_models[kind])
        norm = model.get_submodule("transformer.ln_f" if kind == "gpt2" else "gpt_neox.final_layer_norm").weight
        head = model.get_output_embeddings().weight
        weight = (
            model.get_submodule("transformer.h.0.mlp.c_proj").weight
            if kind == "gpt2"
            else model.get_submodule("gpt_neox.layers.0.mlp.dense_4h_to_h").weight
        )
        assert isinstance(norm, Tensor)
        assert isinstance(weight, Tensor)
        value = centred((weight[5] if kind == "gpt2" else weight[:, 5]).tolist())
        rows = [centred([e * g for e, g in zip(row, norm.tolist(), strict=True)]) for row in head.tolist()]
        middle = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        cosines = [cosine([x - m for x, m in zip(row, middle, strict=True)], value) for row in rows]
        mean = sum(cosines) / len(cosines)
        variance = sum((one - mean) ** 2 for one in cosines) / len(cosines)
        expected = {
            "mean": mean,
            "variance": variance,
            "skewness": sum((one - mean) ** 3 for one in cosines) / len(cosines) / variance**1.5,
            "kurtosis": sum((one - mean) ** 4 for one in cosines) / len(cosines) / variance**2,
        }
        found = {
            moment: measured(tiny_models[kind], CosineMoment(0, 5, moment)).value
            for moment in ("mean", "variance", "skewness", "kurtosis")
        }
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-6), kind


def test_perplexity_of_a_steered_model_is_that_of_the_authors_hook(
    tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    folder = tiny_models["gpt2"]
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join([TEXT] * 12))
    ids = AutoTokenizer.from_pretrained(folder, local_files_only=True)(text.read_text()).input_ids
    model = library_model(folder)
    for layer, neurons in ((0, [3]), (1, [7, 70])):

        def replace_output(_: object, __: object, output: Tensor, neurons: list[int] = neurons) -> None:
            output[:, :, neurons] = 3.0

        model.get_submodule(f"transformer.h.{layer}.mlp.c_fc").register_forward_hook(replace_output)
    total = 0.0
    with torch.inference_mode():
        for start in range(0, len(ids), 64):
            window = torch.tensor([ids[start : start + 64]])
            total += float(model(window, labels=window).loss) * window.shape[1]
    asked = WindowPerplexity(str(text), ("L0N3", "L1N70", "L1N7"), 3.0)
    found = measured(folder, asked).value
    assert found == pytest.approx(math.exp(total / len(ids)), rel=1e-4)
    # The control: where nothing is set it is another number.
    assert found != pytest.approx(measured(folder, WindowPerplexity(str(text))).value, rel=1e-4)
    with pytest.raises(NotFound, match="no neuron L1N128"):
        measured(folder, WindowPerplexity(str(text), ("L1N128",), 3.0))


def test_tokens_are_counted_without_bos(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join([TEXT] * 12))
    kinds: tuple[Kind, ...] = ("gpt2", "opt")
    for kind in kinds:
        tokenizer = AutoTokenizer.from_pretrained(tiny_models[kind], local_files_only=True)
        expected = len(tokenizer(text.read_text(), add_special_tokens=False).input_ids)
        assert measured(tiny_models[kind], TokenCount(str(text))).value == expected


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
    with pytest.raises(NotFound, match="has no token '<begin>'"):
        measured(folder, TextLoss(TEXT, "<begin>"))
    for layer, neuron in ((2, 0), (0, 128), (-1, 0)):
        with pytest.raises(NotFound, match=rf"no neuron L{layer}N{neuron} in 2 layers of 128 neurons"):
            measured(folder, WeightNorm(layer, neuron, "in"))
