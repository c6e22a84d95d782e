"""The recipe: its commands are understood, its shapes are those of transformers, its figures those of --plan."""

import re
import shlex
from pathlib import Path

import click
import pytest
import torch
from transformers import OPTConfig, OPTForCausalLM

import neurothek
from docs.generators import voita
from ingest.corpora.sources.source import Source
from queries.views import install

PAGE = Path(voita.__file__).parents[1] / "recipes" / "voita.md"


def commands() -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


def test_every_command_parses() -> None:
    lines = commands()
    assert len(lines) >= 8
    for program, name, *arguments in lines:
        assert program == "neurothek"
        command = neurothek.main.commands[name]
        parent = click.Context(neurothek.main, obj=neurothek.open())
        context = command.make_context(name, arguments, parent=parent)
        for spec in context.params.get("corpora", ()):
            location = spec.partition("=")[2]
            source = Source("x", location)
            assert source.text.is_streamed or source.builtin_domain is not None


def test_every_view_exists() -> None:
    queried = {word for line in commands() if line[1] == "sql" for word in re.findall(r"from (\w+)", line[2])}
    assert queried
    assert queried <= set(install.all_views())


@pytest.mark.parametrize("size", voita.OPT)
def test_shapes_are_those_of_the_library(size: str) -> None:
    """Built without memory: transformers counts the parameters of the published configuration."""
    shape = voita.shape_of(size)
    config = OPTConfig(
        vocab_size=voita.VOCABULARY,
        hidden_size=shape.d_model,
        ffn_dim=shape.d_ffn,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        max_position_embeddings=shape.context_length,
        word_embed_proj_dim=voita.OPT[size][4],
        do_layer_norm_before=shape.norm_position == "pre",
    )
    with torch.device("meta"):
        model = OPTForCausalLM(config)
    assert shape.n_parameters == model.num_parameters()


def test_neurons_of_the_family() -> None:
    shapes = [voita.shape_of(size) for size in voita.OPT]
    assert sum(shape.n_layers * shape.d_ffn for shape in shapes) == 5_738_496
