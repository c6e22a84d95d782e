"""Vectors at the ends of examples in files, against transformers' own forward pass of one example at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.jobs.exits import inputs as module
from neurothek.ingest.jobs.exits.inputs import ExampleVectors
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer
from tests.support.events import PlainStreams
from tests.support.models import Kind, build


def some_examples(n: int = 12) -> list[Prompt]:
    draw = np.random.default_rng(2)
    return [
        Prompt(number, "prose", draw.integers(3, 390, length).astype(np.int32), length - 1, length - 1)
        for number, length in enumerate(draw.integers(1, 20, n).tolist())
    ]


@pytest.mark.parametrize("kind", ["opt", "opt350", "gpt2"])
def test_vectors_are_the_models_own(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXAMPLES_AT_ONCE", 5)
    folder = build(tmp_path / kind, kind, n_layers=3)
    reference, transformer = PlainStreams(folder), open_transformer(find(str(folder)))
    examples = some_examples()
    vectors = ExampleVectors(tmp_path, transformer, examples, batch_tokens=40)
    for layer in (1, 0):
        streams, outputs = vectors.of(layer, "stream").numpy(), vectors.of(layer, "ffn").numpy()
        assert len(streams) == len(outputs) == len(examples)
        for number, example in enumerate(examples):
            expected = reference.layers(example.tokens.tolist())[layer]
            # float32 of a batch of another shape, at lengths of about 10.
            np.testing.assert_allclose(streams[number], expected.pre, rtol=2e-4, atol=2e-4)
            np.testing.assert_allclose(outputs[number], expected.ffn_output, rtol=2e-4, atol=2e-4)


def test_what_lies_there_is_read_and_what_is_missing_is_made_again(tmp_path: Path) -> None:
    transformer = open_transformer(find(str(build(tmp_path / "tiny", "opt", n_layers=3))))
    vectors = ExampleVectors(tmp_path, transformer, some_examples(), batch_tokens=40)
    before = vectors.of(1, "ffn")
    files = {path: path.stat().st_ino for path in tmp_path.glob("*.npy")}
    assert len(files) == 4
    assert sum(path.stat().st_size - 128 for path in files) == vectors.bytes_needed(transformer.shape, 12)
    vectors.of(0, "stream")
    assert {path: path.stat().st_ino for path in files} == files
    (tmp_path / "ffn-0001-0000.npy").unlink()
    assert torch.equal(vectors.of(1, "ffn"), before)
