"""States in files: the model's own, made where they are missing, and taken up where a run was interrupted."""

from pathlib import Path

import numpy as np
import pytest
import torch

from neurothek.catalog.tables.table import NotFinite
from neurothek.ingest.forward.prompt_pass import Look, Seen
from neurothek.ingest.jobs.shortcuts.fits import SentenceStates
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.ingest.forward.test_prompt_pass import alone, prompts
from tests.support.models import build

N_LAYERS = 3
SENTENCES = prompts([7, 3, 19, 3, 12, 1])


@pytest.fixture
def transformer(tmp_path: Path) -> Transformer:
    return open_transformer(find(str(build(tmp_path / "tiny", "opt", n_layers=N_LAYERS))))


def states_in(folder: Path, transformer: Transformer) -> SentenceStates:
    folder.mkdir(exist_ok=True)
    return SentenceStates(folder, transformer, SENTENCES, batch_tokens=40)


@torch.inference_mode()
def test_states_are_those_of_one_sentence_at_a_time_in_any_order(transformer: Transformer, tmp_path: Path) -> None:
    states = states_in(tmp_path / "files", transformer)
    for number in (2, 0, N_LAYERS, 1):
        found = states.state(number)
        for row, sentence in zip(found, SENTENCES, strict=True):
            layers = alone(transformer, sentence)
            expected = layers[0]["entered"] if number == 0 else layers[number - 1]["post"]
            # float32 of a batch of another shape.
            torch.testing.assert_close(row, expected, rtol=2e-4, atol=2e-4)


def test_streams_of_one_layer_wait_and_none_of_the_last(transformer: Transformer, tmp_path: Path) -> None:
    states = states_in(tmp_path / "files", transformer)
    waiting = []
    for layer in range(N_LAYERS):
        states.run(layer)
        waiting.append(sorted(path.name for path in (tmp_path / "files").glob("streams-*")))
    assert waiting == [["streams-0001"], ["streams-0001", "streams-0002"], ["streams-0002"]]
    n_ids = sum(len(sentence.tokens) for sentence in SENTENCES)
    size = n_ids * transformer.shape.d_model * 4
    assert (tmp_path / "files" / "streams-0002").stat().st_size == size


def test_a_run_that_was_interrupted_is_taken_up_with_the_same_bits(transformer: Transformer, tmp_path: Path) -> None:
    whole = states_in(tmp_path / "whole", transformer)
    expected = [whole.state(number).clone() for number in range(N_LAYERS + 1)]
    states_in(tmp_path / "files", transformer).run(1)

    def stop(seen: Seen) -> dict[str, torch.Tensor]:
        # The last of two batches.
        if 2 in seen.batch.places:
            raise KeyboardInterrupt
        return {}

    stopped: Look = stop
    with pytest.raises(KeyboardInterrupt):
        states_in(tmp_path / "files", transformer).run(2, stopped)
    assert not (tmp_path / "files" / "state-0003.npy").exists()
    again = states_in(tmp_path / "files", transformer)
    for number, state in enumerate(expected):
        np.testing.assert_array_equal(again.state(number), state)


def test_a_state_that_overflows_is_refused(
    transformer: Transformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = transformer.embed
    monkeypatch.setattr(transformer, "embed", lambda ids: embed(ids) * torch.inf)
    with pytest.raises(NotFinite, match="state 0"):
        states_in(tmp_path / "files", transformer).run(0)
