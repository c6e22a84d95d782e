"""Prompts as they are typed, and positions counted from either end."""

from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.models import tokenizer
from neurothek.ingest.trace.open_models import ids_of, place_of


@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama"])
def test_ids_are_those_of_the_models_own_tokenizer(tiny_models: dict[str, Path], kind: str) -> None:
    folder = tiny_models[kind]
    reference = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ids = ids_of(tokenizer.load(folder), "the school is near", context_length=64)
    assert ids.tolist() == reference("the school is near").input_ids


def test_a_prompt_must_have_tokens_and_fit(tiny_models: dict[str, Path]) -> None:
    known = tokenizer.load(tiny_models["opt"])
    length = len(ids_of(known, "one two", context_length=64))
    assert len(ids_of(known, "one two", context_length=length)) == length
    with pytest.raises(LimitExceeded, match=f"has {length} tokens, but the model reads at most {length - 1}"):
        ids_of(known, "one two", context_length=length - 1)
    with pytest.raises(Invalid, match="has no tokens"):
        ids_of(known, "", context_length=64)


def test_positions_count_from_either_end() -> None:
    ids = np.arange(5)
    assert [place_of(ids, position) for position in (None, 0, 4, -1, -5)] == [4, 0, 4, 4, 0]
    for position in (5, -6):
        with pytest.raises(Invalid, match=f"there is no position {position} in a prompt of 5 tokens"):
            place_of(ids, position)
