"""Prompts in batches of like length, looked at at their positions, against one prompt at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward.prompt_pass import Look, Seen, prompt_batches, run, run_layer
from neurothek.ingest.forward.stream_store import MemoryStreams
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support.models import Kind, build

N_LAYERS = 3


def prompts(lengths: list[int], *, seed: int = 3) -> list[Prompt]:
    """Each looked at at a position of chance."""
    draw = np.random.default_rng(seed)
    places = [int(draw.integers(length)) for length in lengths]
    return [
        Prompt(number, "prose", draw.integers(5, 390, length).astype(np.int32), place, place)
        for number, (length, place) in enumerate(zip(lengths, places, strict=True))
    ]


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=40), batch_tokens=st.integers(1, 100))
def test_batches_hold_every_prompt_once_the_shortest_first(lengths: list[int], batch_tokens: int) -> None:
    cut = prompt_batches(prompts(lengths), batch_tokens=batch_tokens)
    places = [place for batch in cut for place in batch.places]
    assert places == sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    n_before = 0
    for batch, following in zip(cut, [*cut[1:], None], strict=True):
        assert batch.lengths == tuple(lengths[place] for place in batch.places)
        assert batch.start == n_before
        n_before += sum(batch.lengths)
        rows, width = batch.tokens.shape
        assert width == max(batch.lengths)
        assert rows == 1 or rows * width <= batch_tokens
        if following is not None:
            assert (rows + 1) * following.lengths[0] > batch_tokens


def test_a_batch_is_padded_to_the_right_and_read_at_its_positions() -> None:
    short, long = prompts([2, 5])
    (batch,) = prompt_batches([short, long], batch_tokens=100)
    assert batch.tokens.tolist() == [[*short.tokens.tolist(), 0, 0, 0], long.tokens.tolist()]
    stream = torch.arange(2 * 5 * 3, dtype=torch.bfloat16).view(2, 5, 3)
    found = batch.at_positions(stream)
    assert found.dtype == torch.float32
    assert found.tolist() == [stream[0, short.position].tolist(), stream[1, long.position].tolist()]


@pytest.fixture(scope="module", params=["opt", "gpt2", "bert"])
def transformer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    kind: Kind = request.param
    return open_transformer(find(str(build(tmp_path_factory.mktemp("models") / kind, kind, n_layers=N_LAYERS))))


def looked_at(seen: Seen) -> dict[str, Tensor]:
    at = seen.batch.at_positions
    return {
        "entered": at(seen.entered),
        "pre": at(seen.output.pre_ffn),
        "post": at(seen.output.stream),
        "coefficients": at(seen.output.coefficients),
        "places": torch.tensor(seen.batch.places),
    }


def alone(transformer: Transformer, prompt: Prompt) -> list[dict[str, Tensor]]:
    """One prompt through all layers, never padded."""
    stream, found = transformer.embed(torch.from_numpy(prompt.tokens)[None].long()), []
    for layer in range(N_LAYERS):
        with transformer.block(layer) as block:
            output = block(stream)
        of = {"entered": stream, "pre": output.pre_ffn, "post": output.stream, "coefficients": output.coefficients}
        found.append({name: one[0, prompt.position] for name, one in of.items()})
        stream = output.stream
    return found


@pytest.mark.parametrize("batch_tokens", [1, 60, 10_000])
def test_what_is_looked_at_is_in_the_order_of_the_prompts(transformer: Transformer, batch_tokens: int) -> None:
    """Masked models, which see what comes after, are told where a prompt ends."""
    some = prompts([7, 3, 19, 3, 12, 1])
    found = list(run(transformer, some, lambda layer: looked_at, batch_tokens=batch_tokens))
    assert len(found) == N_LAYERS
    for number, prompt in enumerate(some):
        for layer, expected in enumerate(alone(transformer, prompt)):
            assert found[layer]["places"][number] == number
            for name, vector in expected.items():
                # float32 of a batch of another shape.
                torch.testing.assert_close(found[layer][name][number], vector, rtol=2e-4, atol=2e-4)


def test_layers_above_those_asked_for_are_not_run(transformer: Transformer) -> None:
    asked: list[int] = []

    def look_at(layer: int) -> Look:
        asked.append(layer)
        return looked_at

    found = list(run(transformer, prompts([4, 2]), look_at, batch_tokens=100, n_layers=2))
    assert asked == [0, 1]
    assert len(found) == 2


def test_parts_are_watched_where_that_is_asked_for(tmp_path: Path) -> None:
    transformer = open_transformer(find(str(build(tmp_path / "tiny", "opt", n_layers=1))))
    cut = prompt_batches(prompts([4, 2]), batch_tokens=100)

    def look(seen: Seen) -> dict[str, Tensor]:
        return {"ffn": seen.batch.at_positions(seen.parts["ffn"].left)} if seen.parts else {}

    def found(*, watches_parts: bool) -> dict[str, Tensor]:
        waiting = MemoryStreams()
        return run_layer(transformer, cut, 0, look, entering=waiting, leaving=None, watches_parts=watches_parts)

    assert found(watches_parts=False) == {}
    (layer,) = run(transformer, prompts([4, 2]), lambda layer: looked_at, batch_tokens=100)
    # A pre-norm block adds what its FFN returns to the stream before it.
    torch.testing.assert_close(layer["pre"] + found(watches_parts=True)["ffn"], layer["post"])
