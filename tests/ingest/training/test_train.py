"""Training: it learns, it is a function of its seed, a kill changes nothing, held-out text stays unseen."""

import itertools
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from neurothek.catalog.problems import Conflict, Invalid, LimitExceeded, NotFound, Unavailable, Unreadable
from neurothek.catalog.progress import Silent
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.sources.source import Source, documents
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.training.card import Bigram
from neurothek.ingest.training.settings import Settings
from neurothek.ingest.training.text import TrainingText, batch_ids, batch_numbers, divide, reuse_tokenizer
from neurothek.ingest.training.train import build, learning_rate, train
from tests.support.texts import write_text

SMALL = Settings("0.7m", 12, vocab_size=300, context=32, batch_size=4, checkpoint_at=(5,), save_every=4)
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return write_text(tmp_path_factory.mktemp("text") / "words.txt", 9_000)


@pytest.fixture(scope="module")
def trained(words: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of an uninterrupted run of `SMALL`."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    assert train([words], folder, SMALL) == [folder.with_name("model-step5"), folder]
    return folder


def training_text(words: Source, folder: Path, *, batch_size: int = 4) -> TrainingText:
    made = corpora.recipe([words], sequence_length=32, tokens_per_domain=None, split="train")
    corpus = corpora.prepare(made, tokenization.load(folder))
    return divide(corpus, None, batch_size=batch_size, pad_id=1)


def test_the_model_is_complete_and_says_what_it_is(trained: Path) -> None:
    for folder, variant, steps in ((trained, None, 12), (trained.with_name("model-step5"), "step 5", 5)):
        assert {path.name for path in folder.iterdir()} == {
            "README.md",
            "config.json",
            "generation_config.json",
            WEIGHTS,
            "tokenizer.json",
            "tokenizer_config.json",
        }
        said = json.loads((folder / "config.json").read_text())
        assert said["neurothek"]["family"] == "mini-opt"
        assert said["neurothek"]["variant"] == variant
        assert 0.8 * steps * 4 * 32 < said["neurothek"]["training_tokens"] <= steps * 4 * 32
        assert {tensor.dtype for tensor in load_file(folder / WEIGHTS).values()} == {torch.float16}
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        assert tokenizer("bus").input_ids[0] == tokenizer.bos_token_id
        assert tokenizer.decode(tokenizer("bus dor").input_ids, skip_special_tokens=True) == "bus dor"
    assert (trained / WEIGHTS).read_bytes() != (trained.with_name("model-step5") / WEIGHTS).read_bytes()


def test_no_steps_leave_the_fresh_weights(words: Source, trained: Path, tmp_path: Path) -> None:
    """The untrained model of the size: the same that a run begins with."""
    (alone,) = train([words], tmp_path / "alone", replace(SMALL, steps=0, checkpoint_at=()), tokenizer=trained)
    run = replace(SMALL, steps=1, checkpoint_at=(0,))
    before, after = train([words], tmp_path / "run", run, tokenizer=trained)
    assert before.name == "run-step0"
    assert (alone / WEIGHTS).read_bytes() == (before / WEIGHTS).read_bytes() != (after / WEIGHTS).read_bytes()
    fresh = build(SMALL, reuse_tokenizer(trained, vocab_size=SMALL.vocab_size))
    own = load_file(alone / WEIGHTS)
    assert own
    assert all(torch.equal(own[name], weight.half()) for name, weight in fresh.state_dict().items() if name in own)
    for folder in (alone, before):
        said = json.loads((folder / "config.json").read_text())["neurothek"]
        assert (said["variant"], said["training_tokens"]) == ("step 0", 0)
        card = (folder / "README.md").read_text()
        assert "nan" not in card
        assert "left untrained by `neurothek train`" in card


def test_the_card_says_how_to_rebuild_it(trained: Path) -> None:
    card = (trained / "README.md").read_text()
    assert "neurothek train --size 0.7m --steps 12 --seed 0 --checkpoint-at 5 --corpus words=PATH" in card
    assert f"torch {torch.__version__}" in card
    assert "- `words`: Words" in card


def test_the_same_seed_gives_the_same_bits_and_another_does_not(words: Source, trained: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again", tmp_path / "other"
    train([words], again, SMALL)
    train([words], other, Settings(**{**vars(SMALL), "seed": 1}), tokenizer=trained)
    for name in (WEIGHTS, "tokenizer.json", "config.json", "README.md"):
        assert (again / name).read_bytes() == (trained / name).read_bytes(), name
    assert (other / WEIGHTS).read_bytes() != (trained / WEIGHTS).read_bytes()
    assert (other / "tokenizer.json").read_bytes() == (trained / "tokenizer.json").read_bytes()
    assert json.loads((other / "config.json").read_text())["neurothek"]["variant"] == "seed 1"


class Killer(Silent):
    """Stops the run as a person's Ctrl-C would, after so many steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def advance(self, amount: int = 1, note: str = "") -> None:
        if "loss" in note:
            self.left -= amount
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [1, 4, 5, 6, 9, 12])
def test_a_run_that_was_stopped_ends_with_the_same_bits(
    words: Source, trained: Path, tmp_path: Path, after: int
) -> None:
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        train([words], output, SMALL, progress=Killer(after))
    assert not (output / WEIGHTS).exists()
    train([words], output, SMALL)
    for name in ("model", "model-step5"):
        for file in (WEIGHTS, "config.json", "README.md"):
            assert (tmp_path / name / file).read_bytes() == (trained.with_name(name) / file).read_bytes()


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from neurothek.catalog.progress import Silent
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.training.train import train
from neurothek.ingest.training.settings import Settings

class Killer(Silent):
    steps = 0
    def advance(self, amount=1, note=""):
        self.steps += "loss" in note
        if self.steps == 7:
            os.kill(os.getpid(), signal.SIGKILL)

torch.set_num_threads(1)
settings = Settings("0.7m", 12, vocab_size=300, context=32, batch_size=4, checkpoint_at=(5,), save_every=4)
train([Source("words", sys.argv[1])], Path(sys.argv[2]), settings, progress=Killer())
"""


@pytest.mark.long
def test_a_killed_process_leaves_a_run_that_goes_on(words: Source, trained: Path, tmp_path: Path) -> None:
    output = tmp_path / "model"
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, words.location, str(output)]
    died = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=False)
    assert died.returncode == -signal.SIGKILL
    train([words], output, SMALL)
    assert (output / WEIGHTS).read_bytes() == (trained / WEIGHTS).read_bytes()


def effect_of_order(folder: Path) -> float:
    """How much the order of the ids before changes the last stream of the first block, where only positions can."""
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    ids = torch.tensor([[10, 11, 12, 13, 14], [13, 11, 12, 10, 14]])
    with torch.inference_mode():
        last = model(ids, output_hidden_states=True).hidden_states[1][:, -1]
    return float((last[0] - last[1]).abs().max() / last.abs().max())


def test_without_positions_order_counts_for_nothing(words: Source, trained: Path, tmp_path: Path) -> None:
    settings = Settings("0.7m", 6, no_positions=True, vocab_size=300, context=32, batch_size=4)
    train([words], tmp_path / "model", settings)
    weights = load_file(tmp_path / "model" / WEIGHTS)
    assert not weights["model.decoder.embed_positions.weight"].any()
    assert json.loads((tmp_path / "model" / "config.json").read_text())["neurothek"]["variant"] == "no-position"
    # A sum in another order is off by some float32 roundings; a dozen steps make positions tell far more.
    assert effect_of_order(tmp_path / "model") < 1e-5
    assert effect_of_order(trained) > 1e-4


def test_post_norm_has_no_final_norm_and_a_stream_twice_as_wide_as_its_embeddings(
    words: Source, tmp_path: Path
) -> None:
    settings = Settings("0.7m", 6, post_norm=True, vocab_size=300, context=32, batch_size=4)
    train([words], tmp_path / "model", settings)
    shapes = {name: tuple(weight.shape) for name, weight in load_file(tmp_path / "model" / WEIGHTS).items()}
    assert shapes["model.decoder.embed_tokens.weight"] == (300, 64)
    assert shapes["model.decoder.project_in.weight"] == (128, 64)
    assert shapes["model.decoder.project_out.weight"] == (64, 128)
    assert "model.decoder.final_layer_norm.weight" not in shapes
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert (config["do_layer_norm_before"], config["neurothek"]["variant"]) == (False, "post-norm")
    card = (tmp_path / "model" / "README.md").read_text()
    assert card.startswith("# A small OPT (post-norm)\n")
    assert "norms after the blocks, embeddings of width 64" in card
    assert "No norm before the unembedding. The projections" in card
    assert "neurothek train --size 0.7m --steps 6 --seed 0 --post-norm --corpus words=PATH" in card


def test_after_every_block_the_stream_is_normed_where_norms_come_last(words: Source, tmp_path: Path) -> None:
    for post_norm in (True, False):
        settings = Settings("0.7m", 1, post_norm=post_norm, vocab_size=300, context=32, batch_size=4)
        train([words], tmp_path / str(post_norm), settings)
        model = AutoModelForCausalLM.from_pretrained(tmp_path / str(post_norm), dtype=torch.float32).eval()
        with torch.inference_mode():
            after_first = model(torch.tensor([[0, 10, 11]]), output_hidden_states=True).hidden_states[1]
        # One step leaves the norms' gains next to 1: only a stream that was normed has a variance of about 1.
        is_normed = bool((after_first.var(-1) - 1).abs().max() < 0.1)
        assert is_normed == post_norm


def test_held_out_sequences_are_in_no_batch(words: Source, trained: Path) -> None:
    text = training_text(words, trained)
    steps_per_epoch = len(text.trained) // 4
    for epoch in range(2):
        steps = range(epoch * steps_per_epoch, (epoch + 1) * steps_per_epoch)
        seen = np.concatenate([batch_numbers(text, seed=3, step=step, batch_size=4) for step in steps])
        assert len(set(seen.tolist())) == len(seen)
        assert set(seen.tolist()) <= set(text.trained.tolist())
    held_out = set(range(text.corpus.n_sequences)) - set(text.trained.tolist())
    assert held_out == set(range(49, text.corpus.n_sequences, 50))
    found = [ids.tolist() for ids in text.held_out["words"]]
    assert found == [text.corpus.sequence(i).tolist() for i in sorted(held_out)]
    first, second = (batch_numbers(text, seed=3, step=step, batch_size=4) for step in (0, steps_per_epoch))
    assert first.tolist() != second.tolist()


def test_of_built_in_text_the_measured_documents_are_held_out(words: Source, trained: Path) -> None:
    tokenizer = tokenization.load(trained)
    sums = Source("math", "builtin:math")
    made = corpora.recipe([sums, words], sequence_length=32, tokens_per_domain=2_000, split="train")
    kept = corpora.recipe([sums], sequence_length=32, tokens_per_domain=2_000)
    text = divide(corpora.prepare(made, tokenizer), corpora.prepare(kept, tokenizer), batch_size=4, pad_id=1)
    n_sums = int((text.corpus.domain_of == 0).sum())
    assert set(range(n_sums)) <= set(text.trained.tolist())
    start = tokenizer.encode([next(documents(sums, split="measure"))])[0][:31]
    assert text.held_out["math"][0].tolist() == [tokenizer.bos_id, *start.tolist()]
    trained_on = {tuple(text.corpus.sequence(int(i)).tolist()) for i in text.trained}
    assert not trained_on & {tuple(ids.tolist()) for ids in text.held_out["math"]}


def test_batches_are_padded_on_the_right_and_ask_for_the_next_id() -> None:
    ids, targets = batch_ids([np.array([0, 5, 6], dtype=np.int32), np.array([0, 7], dtype=np.int32)], 1)
    assert ids.tolist() == [[0, 5, 6], [0, 7, 1]]
    assert targets.tolist() == [[5, 6, -100], [7, -100, -100]]


def test_learning_rate_warms_up_and_falls_to_a_tenth() -> None:
    rates = [learning_rate(step, 1_000) for step in range(1_000)]
    assert rates.index(max(rates)) in (49, 50)
    assert max(rates) == pytest.approx(1.5e-3)
    assert rates[-1] == pytest.approx(1.5e-4, rel=1e-3)
    assert all(a >= b for a, b in itertools.pairwise(rates[50:]))


def test_the_controls_are_counts_of_the_training_sequences(words: Source, trained: Path) -> None:
    text = training_text(words, trained)
    control = Bigram(text, 300)
    train_pairs = [
        (int(a), int(b)) for i in text.trained.tolist() for a, b in itertools.pairwise(text.corpus.sequence(i))
    ]
    held = text.held_out["words"][:2]
    pairs = [(int(a), int(b)) for ids in held for a, b in itertools.pairwise(ids)]
    second = [b for _, b in train_pairs]
    single = {b: (second.count(b) + 1) / (len(second) + 300) for _, b in pairs}
    unigram = -np.mean([np.log(single[b]) for _, b in pairs])
    assert control.unigram_loss(held) == pytest.approx(unigram)
    before = [a for a, _ in train_pairs]
    bigram = min(
        -np.mean([np.log((train_pairs.count((a, b)) + s * single[b]) / (before.count(a) + s)) for a, b in pairs])
        for s in (1, 3, 10, 30, 100, 300)
    )
    assert control.loss(held) == pytest.approx(bigram)
    assert control.loss(held) < control.unigram_loss(held)


def test_settings_that_no_run_can_have_are_refused_before_anything_is_written(words: Source, tmp_path: Path) -> None:
    output = tmp_path / "model"
    with pytest.raises(NotFound, match=r"choose one of 0\.7m, 2m, 5m"):
        train([words], output, Settings("66b", 1))
    with pytest.raises(Invalid, match="a run of -1 steps"):
        train([words], output, Settings("2m", -1))
    with pytest.raises(Invalid, match="a checkpoint at step 9 of 5"):
        train([words], output, Settings("2m", 5, checkpoint_at=(9,)))
    with pytest.raises(Invalid, match="100 tokens"):
        train([words], output, Settings("2m", 5, vocab_size=100))
    with pytest.raises(Invalid, match="choose --no-positions or --post-norm"):
        train([words], output, Settings("2m", 5, no_positions=True, post_norm=True))
    with pytest.raises(Unavailable, match="'nowhere' is not available"):
        train([words], output, Settings("2m", 5, device="nowhere"))
    assert not output.exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device that must be missing is there")
def test_a_device_that_is_not_there_is_refused(words: Source, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="'cuda' is not available"):
        train([words], tmp_path / "model", Settings("2m", 5, device="cuda"))


def test_a_vocabulary_that_the_text_does_not_fill_is_refused(words: Source, tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded, match=r"the text supports a vocabulary of only .* tokens, not 8192"):
        train([words], tmp_path / "model", Settings("0.7m", 5))


def test_text_that_fills_no_batch_is_refused(tmp_path: Path) -> None:
    little = write_text(tmp_path / "little.txt", 300)
    with pytest.raises(LimitExceeded, match="at least 50 sequences"):
        train([little], tmp_path / "model", Settings("0.7m", 5, vocab_size=300, context=64, batch_size=50))
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(Unreadable, match="no document"):
        train([Source("x", str(tmp_path / "empty.txt"))], tmp_path / "other", Settings("0.7m", 5))


def test_an_output_that_exists_is_left_alone(words: Source, trained: Path, tmp_path: Path) -> None:
    before = (trained / WEIGHTS).read_bytes()
    with pytest.raises(Conflict, match="exists and holds no unfinished run"):
        train([words], trained, SMALL)
    assert (trained / WEIGHTS).read_bytes() == before
    (tmp_path / "new-step5").mkdir()
    (tmp_path / "new-step5" / "mine.txt").write_text("x")
    with pytest.raises(Conflict, match="new-step5"):
        train([words], tmp_path / "new", SMALL)
    (tmp_path / "file").write_text("x")
    with pytest.raises(Conflict, match="file"):
        train([words], tmp_path / "file", SMALL)


def test_an_unfinished_run_is_not_continued_with_other_settings(words: Source, tmp_path: Path) -> None:
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        train([words], output, SMALL, progress=Killer(2))
    with pytest.raises(Conflict, match="other settings or other text"):
        train([words], output, Settings(**{**vars(SMALL), "seed": 4}))


def test_a_tokenizer_that_does_not_fit_is_refused(
    words: Source, trained: Path, tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(Unreadable, match="it has 300 tokens instead of 400"):
        train([words], tmp_path / "a", Settings(**{**vars(SMALL), "vocab_size": 400}), tokenizer=trained)
    size = tokenization.load(tiny_models["gpt2"]).vocab_size
    with pytest.raises(Unreadable, match="it prepends no BOS"):
        train([words], tmp_path / "b", Settings(**{**vars(SMALL), "vocab_size": size}), tokenizer=tiny_models["gpt2"])
