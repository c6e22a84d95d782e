"""Prompts in the ids of a model, and the texts that come back."""

from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.interventions.continued import Writing
from neurothek.ingest.interventions.prompt_ids import PromptIds, continue_prompts, warning
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support.models import build

TEXTS = ("the school is near", "river", "the school is near the old river")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("prompts") / "opt", "opt", n_layers=2, d_ffn=24, seed=4, context_length=128)


@pytest.fixture(scope="module")
def transformer(folder: Path) -> Transformer:
    return open_transformer(find(str(folder)))


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return tokenization.load(folder)


def test_every_prompt_begins_with_the_bos(tokenizer: Tokenizer) -> None:
    found = PromptIds.of(TEXTS, tokenizer, described="insults", length=5, context_length=128)
    assert tokenizer.bos_id is not None
    for text, plain, warned in zip(TEXTS, found.plain, found.warned, strict=True):
        own, before = tokenizer.encode([text, warning("insults")])
        assert plain.tolist() == [tokenizer.bos_id, *own.tolist()]
        assert warned.tolist() == [tokenizer.bos_id, *before.tolist(), *own.tolist()]
    assert found.longest() == max(map(len, found.warned))


def test_what_does_not_fit_the_context_is_refused_by_number(tokenizer: Tokenizer) -> None:
    longest = PromptIds.of(TEXTS, tokenizer, described="insults", length=5, context_length=128).longest()
    PromptIds.of(TEXTS, tokenizer, described="insults", length=5, context_length=longest + 5)
    with pytest.raises(LimitExceeded, match=r"^prompt 3 cannot be continued: its \d+ tokens, .* do not fit") as caught:
        PromptIds.of(TEXTS, tokenizer, described="insults", length=6, context_length=longest + 5)
    assert "\n" not in str(caught.value)


def test_a_prompt_without_a_token_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(Invalid, match="prompt 2 cannot be continued: it has no token"):
        PromptIds.of(("river", ""), tokenizer, described="insults", length=5, context_length=128)


def test_texts_come_back_in_the_order_of_the_prompts(transformer: Transformer, tokenizer: Tokenizer) -> None:
    prompts = PromptIds.of(TEXTS, tokenizer, described="insults", length=6, context_length=128)
    together = continue_prompts(transformer, tokenizer, prompts, Writing(6))
    assert [one.n_tokens for one in together] == [6, 6, 6]
    for number, text in enumerate(TEXTS):
        single = PromptIds.of([text], tokenizer, described="insults", length=6, context_length=128)
        (alone,) = continue_prompts(transformer, tokenizer, single, Writing(6))
        assert alone == together[number]


def test_a_space_before_a_word_is_kept(transformer: Transformer, tokenizer: Tokenizer) -> None:
    """Whatever is written, prompt and continuation side by side are the text of all ids."""
    prompts = PromptIds.of(TEXTS, tokenizer, described="insults", length=6, context_length=128)

    def forced(_: Tensor, logits: Tensor) -> Tensor:
        said = logits.new_full(logits.shape, -np.inf)
        said[:, tokenizer.encode([" river"])[0][0]] = 0
        return said

    found = continue_prompts(transformer, tokenizer, prompts, Writing(2), adjust=lambda numbers: forced)
    piece = tokenizer.texts(tokenizer.encode([" river"])[0][:1])[0]
    assert [one.text for one in found] == [piece * 2] * 3
