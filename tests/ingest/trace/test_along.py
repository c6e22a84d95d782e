"""A neuron's activation on each token against what enters transformers' own second map of the FFN."""

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.models.measured import open_measured
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.grid import activations_along
from tests.support.anatomy import Anatomy, float64, loaded
from tests.support.models import KINDS

PROMPT = "the school is near the river and the old"


def opened(folder: Path) -> tuple[Transformer, Tokenizer]:
    return open_measured(Measured("tiny", str(folder), None, find(str(folder)).weights_sha256))


@pytest.mark.parametrize("kind", KINDS)
def test_activations_are_the_models_own(tiny_models: dict[str, Path], kind: str) -> None:
    folder = tiny_models[kind]
    ids = AutoTokenizer.from_pretrained(folder, local_files_only=True)(PROMPT).input_ids
    watched = Anatomy(loaded(folder)).watch(torch.tensor([ids]))
    model, not_zero = opened(folder), 0
    for layer, neuron in ((0, 3), (1, 0), (1, 21)):
        found = activations_along(*model, PROMPT, layer=layer, neuron=neuron)
        # OPT flattens batch and time.
        expected = float64(watched[layer]["values in"]).reshape(len(ids), -1)[:, neuron]
        # Float32 sums in another order.
        assert found.activations == pytest.approx(expected.tolist(), rel=2e-4, abs=2e-5)
        assert (found.layer, found.neuron, len(found.tokens)) == (layer, neuron, len(ids))
        not_zero += sum(one != 0 for one in found.activations)
    assert not_zero > 0


def test_what_is_no_prompt_is_refused(tiny_models: dict[str, Path]) -> None:
    model = opened(tiny_models["opt"])
    with pytest.raises(Invalid, match="has no tokens"):
        activations_along(*model, "", layer=0, neuron=0)
    with pytest.raises(LimitExceeded, match="but the model reads at most"):
        activations_along(*model, "one two three " * 40, layer=0, neuron=0)
