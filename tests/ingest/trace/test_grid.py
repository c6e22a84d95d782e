"""A grid of layers by positions against transformers' own hidden states, each read by its own head."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from neurothek.catalog.problems import Invalid, LimitExceeded, Unsupported
from neurothek.catalog.tables.traces import TracedGrid
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.models.measured import open_measured
from neurothek.ingest.trace import trace
from neurothek.ingest.trace.ablation import Ablation
from neurothek.ingest.trace.grid import trace_grid
from tests.ingest.interventions.test_changed import edited
from tests.support.anatomy import Floats, loaded
from tests.support.events import VOCABULARY, PlainStreams, probability, rank
from tests.support.models import CAUSAL_KINDS

PROMPT = "the school is near the river and the old"
TOLERANCE = 2e-4
"""Float32 sums in another order."""


@pytest.fixture(scope="module", params=(*CAUSAL_KINDS, "gemma3", "granite"))
def folder(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> Path:
    return tiny_models[request.param]


@cache
def opened(folder: Path) -> tuple[Any, Any]:
    return open_measured(Measured("tiny", str(folder), None, find(str(folder)).weights_sha256))


@cache
def streams(folder: Path) -> PlainStreams:
    return PlainStreams(folder)


def grid(folder: Path, prompt: str = PROMPT, **options: Any) -> TracedGrid:
    return trace_grid(*opened(folder), prompt, **options)


def blocks_left(folder: Path, ids: list[int]) -> list[torch.Tensor]:
    """[layer] -> [time d_model] what left each block, the last one before the final norm, as hooks hear it."""
    model, heard = loaded(folder), list[torch.Tensor]()
    (blocks,) = [part for name, part in model.named_modules() if name.split(".")[-1] in ("layers", "h")]
    for block in blocks.children():
        block.register_forward_hook(lambda _, given, out: heard.append(out if torch.is_tensor(out) else out[0]))
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    # transformers says the same of all but the last, to which it applies the final norm.
    for own, told in zip(heard[:-1], states[1:-1], strict=True):
        assert torch.equal(own, told)
    return [one[0] for one in heard]


def ids_of(folder: Path) -> list[int]:
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return list(tokenizer(PROMPT).input_ids)


def check_cell(row: dict[str, Any], logits: Floats, final: int, *, top: int) -> None:
    expected = np.argsort(-logits, kind="stable")[:top].tolist()
    assert row["token_ids"] == expected
    assert row["probabilities"] == pytest.approx([probability(logits, token) for token in expected], rel=TOLERANCE)
    assert row["final_rank"] == rank(logits, final)


def test_every_cell_is_what_the_models_own_head_says_of_its_hidden_states(folder: Path) -> None:
    ids, reference = ids_of(folder), streams(folder)
    found = grid(folder, top=3)
    left = blocks_left(folder, ids)
    assert (found.first, len(found.tokens)) == (0, len(ids))
    assert found.cells.select("layer", "position").rows() == [
        (layer, position) for layer in range(len(left)) for position in range(len(ids))
    ]
    for row in found.cells.to_dicts():
        layer, position = row["layer"], row["position"]
        # A prompt that ends there: what comes after changes nothing.
        until = ids[: position + 1]
        final = int(reference.own_logits(until).argmax())
        check_cell(row, reference.logits(left[layer][position].double().numpy()), final, top=3)
        assert row["token_before"] == int(reference.logits(reference.layers(until)[layer].pre).argmax())


def test_the_last_row_is_the_whole_model(folder: Path) -> None:
    with torch.no_grad():
        logits = loaded(folder)(torch.tensor([ids_of(folder)])).logits[0].double().softmax(1).numpy()
    last = grid(folder).cells.filter(layer=1)
    assert last["final_rank"].to_list() == [1] * len(logits)
    for row in last.to_dicts():
        said = logits[row["position"]][:VOCABULARY]
        assert row["token_ids"][0] == int(said.argmax())
        assert row["probabilities"][0] == pytest.approx(said.max() / said.sum(), rel=TOLERANCE)


def test_a_cell_is_what_a_trace_says_there(folder: Path) -> None:
    found = grid(folder)
    for position in (1, len(found.tokens) - 1):
        traced = trace.trace(*opened(folder), PROMPT, position=position)
        for layer in range(2):
            (row,) = found.cells.filter(layer=layer, position=position).to_dicts()
            said = traced.top_tokens.filter(layer=layer, moment="post").sort("rank")
            assert row["token_ids"] == said["token_id"].to_list()
            assert row["probabilities"] == pytest.approx(said["probability"].to_list(), rel=TOLERANCE)
            assert row["final_rank"] == traced.layers.row(layer, named=True)["final_rank_after"]
            assert row["token_before"] == traced.layers.row(layer, named=True)["candidate_token"]


def test_only_the_last_positions_are_read_where_so_is_asked(folder: Path) -> None:
    whole, cut = grid(folder), grid(folder, most=4)
    assert (cut.first, cut.tokens) == (len(whole.tokens) - 4, whole.tokens)
    there = whole.cells.filter(whole.cells["position"] >= cut.first)
    assert cut.cells.drop("probabilities").equals(there.drop("probabilities"))
    assert grid(folder, most=400).cells.equals(whole.cells)


def test_through_matrices_a_state_is_what_they_make_of_it(folder: Path) -> None:
    ids, reference = ids_of(folder), streams(folder)
    chance = np.random.default_rng(5)
    matrices = [chance.normal(size=(32, 32)).astype(np.float32) / 6 for _ in range(2)]
    found, plain = grid(folder, matrices=matrices), grid(folder)
    assert found.cells["token_before"].null_count() == found.cells.height
    # The last state is read as it is.
    assert found.cells.filter(layer=1).drop("token_before").equals(plain.cells.filter(layer=1).drop("token_before"))
    left = blocks_left(folder, ids)[0].double().numpy()
    final = plain.cells.filter(layer=1)["token_ids"].to_list()
    for row in found.cells.filter(layer=0).to_dicts():
        place = row["position"]
        check_cell(row, reference.logits(matrices[1].astype(np.float64) @ left[place]), final[place][0], top=5)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_with_a_neuron_switched_it_is_a_model_whose_weights_were_edited(folder: Path, value: float) -> None:
    layer, neuron = 0, 5
    found = grid(folder, ablation=Ablation(layer, neuron, value), top=3)
    model = edited(folder, {layer: [(neuron, 0.0)]}, to=value)
    with torch.no_grad():
        logits = model(torch.tensor([ids_of(folder)])).logits[0].double().numpy()[:, :VOCABULARY]
    last = found.cells.filter(layer=1)
    assert last.height == len(logits)
    for row in last.to_dicts():
        # The edited model's own prediction is the final one.
        check_cell(row, logits[row["position"]], int(logits[row["position"]].argmax()), top=3)
    untouched = grid(folder, top=3)
    below = untouched.cells.filter(layer=0)["token_before"]
    # What is before the switch stays as it is.
    assert found.cells.filter(layer=0)["token_before"].to_list() == below.to_list()
    assert not found.cells.equals(untouched.cells)


def test_a_switch_that_cannot_be_is_refused(tiny_models: dict[str, Path]) -> None:
    with pytest.raises(Invalid, match="the numbers of the model overflow"):
        grid(tiny_models["opt"], ablation=Ablation(0, 0, 1e30))
    with pytest.raises(Unsupported, match="have gates"):
        grid(tiny_models["llama"], ablation=Ablation(0, 0, 0.0, is_before=True))


def test_what_cannot_be_traced_is_refused(tiny_models: dict[str, Path]) -> None:
    with pytest.raises(Unsupported, match="nothing to trace"):
        grid(tiny_models["bert"])
    with pytest.raises(Invalid, match="has no tokens"):
        grid(tiny_models["opt"], "")
    with pytest.raises(LimitExceeded, match="but the model reads at most 64"):
        grid(tiny_models["opt"], "one two three " * 40)


def test_more_tokens_than_there_are_are_all_of_them(tiny_models: dict[str, Path]) -> None:
    listed = grid(tiny_models["opt"], "one", top=1000).cells["token_ids"].to_list()
    assert {len(one) for one in listed} == {VOCABULARY}
    assert all(sorted(one) == list(range(VOCABULARY)) for one in listed)
