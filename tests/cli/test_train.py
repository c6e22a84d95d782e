"""The command `train`: eighty steps learn more than how often each id comes, and a mistake is a sentence."""

import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from transformers import AutoModelForCausalLM

from neurothek.catalog.problems import NotFound
from neurothek.cli.train import train as train_command
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.training.card import model_loss
from neurothek.ingest.training.text import divide
from tests.support.advice import advised, run
from tests.support.texts import write_text


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return write_text(tmp_path_factory.mktemp("text") / "words.txt", 9_000)


@pytest.mark.series
def test_the_command_trains_the_smallest_model_below_the_unigram_entropy(words: Source, tmp_path: Path) -> None:
    output = tmp_path / "model"
    arguments = ["--size", "0.7m", "--steps", "80", "--corpus", f"words={words.location}", "--device", "cpu"]
    result = CliRunner().invoke(train_command, [*arguments, "--vocabulary", "300", "--output", str(output)])
    assert result.exit_code == 0, result.output
    tokenizer = tokenization.load(output)
    corpus = corpora.prepare(corpora.recipe([words], sequence_length=256, tokens_per_domain=None), tokenizer)
    counts = corpus.token_counts_frame()["n_occurrences"].to_numpy()
    shares = counts / counts.sum()
    unigram_entropy = float(-(shares * np.log(shares)).sum())
    model = AutoModelForCausalLM.from_pretrained(output, local_files_only=True, dtype=torch.float32).eval()
    held_out = divide(corpus, None, batch_size=1, pad_id=1).held_out["words"]
    assert len(held_out) > 0
    loss = model_loss(model, held_out, 1)
    # An untrained model has ln 300 = 5.7; one that knows no order cannot pass the entropy of single ids.
    assert loss < unigram_entropy - 0.5
    # What is recommended then is a command that measures this very folder.
    (command,) = advised(result.stderr)
    assert shlex.split(command) == ["ingest", str(output)]
    planned = run([*shlex.split(command), "--corpus", f"words={words.location}", "--tokens", "1000", "--plan"])
    assert planned.exit_code == 0, planned.output
    card = (output / "README.md").read_text()
    assert f"| words | {sum(len(ids) - 1 for ids in held_out):,} | {loss:.3f} |" in card
    assert str(Path(words.location).parent) not in card


def test_a_user_error_of_the_command_is_a_sentence(words: Source, tmp_path: Path) -> None:
    arguments = ["--size", "66b", "--steps", "1", "--corpus", f"w={words.location}", "--output", str(tmp_path / "m")]
    result = CliRunner().invoke(train_command, arguments)
    assert isinstance(result.exception, NotFound)
    assert str(result.exception).startswith("there is no model size '66b'; choose one of ")
