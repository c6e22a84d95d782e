"""Prompts drawn from a text: where sentences are cut or looked at, what a model reads, and that chance is fair."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neurothek.catalog.problems import NotFound
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.prompts import cut, cut_prompts, sample_prompts
from neurothek.ingest.corpora.sentences import Sentence, sentences
from neurothek.ingest.corpora.sources.source import Source
from tests.ingest.jobs.shortcuts.test_job import opened, prepare
from tests.support.models import build
from tests.support.shortcuts import write_sentences

WIDTH = 16


def test_an_example_is_the_beginning_of_a_sentence_and_the_id_behind_it(tmp_path: Path) -> None:
    _, tokenizer = opened(build(tmp_path / "tiny", "opt", n_layers=1, d_model=WIDTH))
    corpus = prepare(write_sentences(tmp_path, n=60), tokenizer)
    known = {tuple(sentence.ids.tolist()) for sentence in sentences(corpus, tokenizer)}
    drawn = cut_prompts(corpus, tokenizer, context_length=64, seed=1, n_prompts=40)
    assert [prompt.number for prompt in drawn.rows] == list(range(40))
    assert drawn.n_sentences == len(sentences(corpus, tokenizer))
    for prompt in drawn.rows:
        bos, *own = prompt.tokens.tolist()
        assert bos == tokenizer.bos_id
        assert (prompt.position, prompt.own_position, prompt.n_prefix) == (len(own), len(own) - 1, len(own))
        begun = [*own] if prompt.target is None else [*own, prompt.target]
        assert any(list(ids[: len(begun)]) == begun for ids in known)
        assert prompt.tokens.dtype == np.int32


def test_the_first_ones_to_fit_on_and_the_last_to_judge_by_are_the_whole_sample(tmp_path: Path) -> None:
    _, tokenizer = opened(build(tmp_path / "tiny", "opt", n_layers=1, d_model=WIDTH))
    corpus = prepare(write_sentences(tmp_path, n=60), tokenizer)
    sample = sample_prompts(corpus, tokenizer, context_length=64, seed=1, n_sentences=40)
    assert (len(sample.rows), sample.n_fit, sample.n_validation) == (40, 30, 10)
    assert [prompt.number for prompt in sample.validation] == list(range(30, 40))
    assert {prompt.position - prompt.own_position for prompt in sample.rows} == {1}
    assert all(len(prompt.tokens) == prompt.position + 1 for prompt in sample.rows)


def test_a_sentence_longer_than_the_context_is_cut_within_it() -> None:
    sentence = Sentence("prose", np.arange(100, dtype=np.int32))
    cuts = [cut(sentence, number, bos=[2], context_length=8, seed=0) for number in range(200)]
    assert {example.n_prefix for example in cuts} == set(range(1, 8))
    assert all(len(example.tokens) == example.n_prefix + 1 <= 8 for example in cuts)
    assert all(example.target == example.n_prefix for example in cuts)


def test_a_sentence_of_one_id_is_an_example_without_a_next_one() -> None:
    example = cut(Sentence("prose", np.array([7], dtype=np.int32)), 0, bos=[], context_length=8, seed=0)
    assert (example.tokens.tolist(), example.target) == ([7], None)


def test_cuts_are_uniform() -> None:
    sentence = Sentence("prose", np.arange(5, dtype=np.int32))
    lengths = [cut(sentence, number, bos=[], context_length=64, seed=1).n_prefix for number in range(2_000)]
    # 500 of each are expected, with a standard deviation of 19.
    assert all(400 < lengths.count(length) < 600 for length in (1, 2, 3, 4))


def test_sentences_come_from_prose_unless_asked(tmp_path: Path) -> None:
    _, tokenizer = opened(build(tmp_path / "tiny", "opt", n_layers=1, d_model=WIDTH))
    specs = [
        write_sentences(tmp_path, n=40, domain=domain, seed=number) for number, domain in enumerate(("code", "prose"))
    ]
    sources = [Source(*spec.split("=")) for spec in specs]
    corpus = corpora.prepare(corpora.recipe(sources, sequence_length=64, packing=True), tokenizer)
    bounds: dict[str, Any] = {"context_length": 64, "seed": 0}
    usual = sample_prompts(corpus, tokenizer, **bounds)
    assert {row.domain for row in usual.rows} == {"prose"}
    both = sample_prompts(corpus, tokenizer, domains=("prose", "code"), **bounds)
    assert both.domains == ("code", "prose")
    assert len(both.rows) > len(usual.rows)
    with pytest.raises(NotFound, match="has no domain math; it has code, prose"):
        sample_prompts(corpus, tokenizer, domains=("math",), **bounds)
    only_code = corpora.prepare(corpora.recipe(sources[:1], sequence_length=64, packing=True), tokenizer)
    assert sample_prompts(only_code, tokenizer, **bounds).domains == ("code",)


def test_every_position_of_a_sentence_is_as_likely(tmp_path: Path) -> None:
    _, tokenizer = opened(build(tmp_path / "tiny", "opt", n_layers=1, d_model=WIDTH))
    (tmp_path / "prose").mkdir()
    for number in range(100):
        (tmp_path / "prose" / f"{number:03d}.txt").write_text("The school is near. " * 8)
    sample = sample_prompts(prepare(f"prose={tmp_path / 'prose'}", tokenizer), tokenizer, context_length=64, seed=0)
    longest = max(row.own_position for row in sample.rows) + 1
    counts = np.bincount([row.own_position for row in sample.rows], minlength=longest)
    expected = len(sample.rows) / longest
    # A chi-squared value of some 5 degrees of freedom, beyond 25 once in ten thousand seeds; this seed is fixed.
    assert ((counts - expected) ** 2 / expected).sum() < 25
    assert len(counts) >= 5


def test_a_long_sentence_is_cut_to_what_a_masked_model_reads(tmp_path: Path) -> None:
    _, tokenizer = opened(build(tmp_path / "tiny", "bert", n_layers=1, d_model=WIDTH))
    (tmp_path / "prose").mkdir()
    for number in range(10):
        (tmp_path / "prose" / f"{number}.txt").write_text(f"The school {'is near the river and ' * 10} old.")
    sample = sample_prompts(
        prepare(f"prose={tmp_path / 'prose'}", tokenizer), tokenizer, context_length=16, seed=0, is_masked=True
    )
    for row in sample.rows:
        assert len(row.tokens) == 16
        assert row.tokens[-1] == tokenizer.closing_id
        assert 1 <= row.position < 15
