"""Shapes of published models: transformers, built without memory, counts the same parameters."""

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, OPTConfig, OPTForCausalLM

from docs.generators.recipes import shapes


@pytest.mark.parametrize("size", shapes.OPT)
def test_opt(size: str) -> None:
    shape = shapes.opt(size)
    config = OPTConfig(
        vocab_size=shapes.OPT_VOCABULARY,
        hidden_size=shape.d_model,
        ffn_dim=shape.d_ffn,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        max_position_embeddings=shape.context_length,
        word_embed_proj_dim=shapes.OPT[size][4],
        do_layer_norm_before=shape.norm_position == "pre",
    )
    with torch.device("meta"):
        model = OPTForCausalLM(config)
    assert shape.n_parameters == model.num_parameters()


def test_neurons_of_the_opt_family() -> None:
    found = [shapes.opt(size) for size in shapes.OPT]
    assert sum(shape.n_layers * shape.d_ffn for shape in found) == 5_738_496


@pytest.mark.parametrize("name", shapes.GPT2)
def test_gpt2(name: str) -> None:
    shape = shapes.gpt2(name)
    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(n_layer=shape.n_layers, n_embd=shape.d_model, n_head=shape.n_heads))
    assert shape.n_parameters == model.num_parameters()
    embeddings = model.transformer.wte.weight.numel() + model.transformer.wpe.weight.numel()
    assert shape.n_parameters_embedding == embeddings
    assert (shape.vocab_size, shape.context_length) == (model.config.vocab_size, model.config.n_positions)


@pytest.mark.parametrize("name", shapes.BERT)
def test_bert(name: str) -> None:
    shape = shapes.bert(name)
    config = BertConfig(
        hidden_size=shape.d_model,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        intermediate_size=shape.d_ffn,
    )
    with torch.device("meta"):
        model = BertForMaskedLM(config)
    assert shape.n_parameters == model.num_parameters()
    tables = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    embeddings = sum(model.get_submodule(f"bert.embeddings.{one}").get_parameter("weight").numel() for one in tables)
    assert shape.n_parameters_embedding == embeddings
    assert shape.is_masked
