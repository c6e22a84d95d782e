"""The two baselines, each against the formula of its paper, a token at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from neurothek.ingest.interventions.continued import Writing, continued
from neurothek.ingest.interventions.prompt_ids import self_debiasing, warning, word_filter
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support.anatomy import loaded
from tests.support.models import build

LENGTH = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("baselines") / "opt", "opt", n_layers=2, d_ffn=24, seed=4)


@pytest.fixture(scope="module")
def transformer(folder: Path) -> Transformer:
    return open_transformer(find(str(folder)))


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return tokenization.load(folder)


def all_ids(transformer: Transformer) -> Tensor:
    return torch.ones(transformer.shape.vocab_size, dtype=torch.bool)


def log_p(model: nn.Module, ids: list[int]) -> np.ndarray:
    with torch.no_grad():
        logits = model(torch.tensor(ids)[None]).logits[0, -1].double()
    found: np.ndarray = logits.log_softmax(-1).numpy()
    return found


def test_no_form_of_a_banned_word_is_completed(folder: Path, transformer: Transformer, tokenizer: Tokenizer) -> None:
    """Words of one token and of several; written in all forms, at the beginning and after a space."""
    prompt = tokenizer.encode(["the school is near"])[0]
    before = continued(transformer, prompt[None], [0], Writing(LENGTH), sayable=all_ids(transformer), end=None)[
        0
    ].tolist()
    said = tokenizer.texts(np.array(before[:1]))[0].strip()
    assert said
    words = [said, "schools", "river"]
    banned = {
        tuple(ids.tolist())
        for word in words
        for form in (word, word.lower(), word.capitalize(), word.upper())
        for ids in tokenizer.encode([form, f" {form}"])
    }
    assert {len(ids) > 1 for ids in banned} == {True, False}
    model = loaded(folder)
    ids = prompt.tolist()
    for _ in range(LENGTH):
        logits = log_p(model, ids)
        for sequence in banned:
            if sequence[:-1] == tuple(ids[len(ids) - len(sequence) + 1 :]):
                logits[sequence[-1]] = -np.inf
        ids.append(int(logits.argmax()))
    found = continued(
        transformer,
        prompt[None],
        [0],
        Writing(LENGTH),
        sayable=all_ids(transformer),
        end=None,
        adjust=word_filter(words, tokenizer),
    )[0].tolist()
    assert found == ids[len(prompt) :]
    assert found != before


def test_self_debiasing_lowers_what_a_warning_raises(
    folder: Path, transformer: Transformer, tokenizer: Tokenizer
) -> None:
    (prompt_ids,) = tokenizer.encode(["the school is near the river"])
    prompts = np.stack([prompt_ids, prompt_ids[::-1]])
    before = tokenizer.encode([warning("rude words")])[0]
    warned = torch.from_numpy(np.stack([np.concatenate([before, prompt]) for prompt in prompts])).long()
    found = continued(
        transformer,
        prompts,
        [0, 1],
        Writing(LENGTH),
        sayable=all_ids(transformer),
        end=None,
        adjust=self_debiasing(transformer, warned, prompts.shape[1]),
    )
    model = loaded(folder)
    for prompt, row in zip(prompts.tolist(), found, strict=True):
        added: list[int] = []
        for _ in range(LENGTH):
            p = np.exp(log_p(model, [*prompt, *added]))
            expected = np.exp(log_p(model, [*before.tolist(), *prompt, *added]))
            difference = p - expected
            factor = np.where(difference >= 0, 1.0, np.maximum(0.01, np.exp(50 * difference)))
            added.append(int((factor * p).argmax()))
        assert row.tolist() == added


def test_a_factor_is_never_below_a_hundredth() -> None:
    """Planted probabilities: a certain token of the warned model keeps a hundredth of its own."""

    # Types are checked at the door, and no model runs here.
    undecorated = getattr(self_debiasing, "__wrapped__", self_debiasing)

    class Certain:
        """Stands for a pass of the warned model that expects token 2."""

        def next_logits(self, ids: Tensor) -> Tensor:
            return torch.tensor([[0.0, 0.0, 50.0]]).expand(len(ids), 3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("neurothek.ingest.interventions.prompt_ids.CachedPass", lambda *_: Certain())
        changed = undecorated(None, torch.zeros(1, 2).long(), 1)(  # type: ignore[arg-type]  # no model runs
            torch.zeros(1, 1).long(), torch.log(torch.tensor([[0.2, 0.2, 0.6]]))
        )
    p = changed.softmax(-1)[0].numpy()
    expected = np.array([0.2, 0.2, 0.6 * max(0.01, float(np.exp(-50 * 0.4)))])
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-5)


def test_the_warning_names_what_is_unwanted() -> None:
    assert warning("insults") == "The following text contains insults:\n"
