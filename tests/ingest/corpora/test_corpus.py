"""Corpora against a loop written from the definitions: packing, cutting, limits, fingerprints, frames."""

import hashlib
import itertools
import json
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurothek.catalog.problems import Invalid, LimitExceeded, Unreadable
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora import text_memory
from neurothek.ingest.corpora.corpus import Corpus, prepare, recipe
from neurothek.ingest.corpora.packing import cut_sequences
from neurothek.ingest.corpora.sources.source import Source, parse_sources
from neurothek.ingest.corpora.text_memory import TextMemory
from neurothek.ingest.models.library_tokenizers import wrap
from neurothek.ingest.models.tokenizer import Tokenizer
from tests.support.models import Kind
from tests.support.tokenizers import make_tokenizer

DOCUMENTS = st.lists(
    st.text(alphabet=st.sampled_from("abcdest .,\n1"), min_size=1, max_size=120), min_size=1, max_size=12
)
KINDS: tuple[Kind, ...] = ("opt", "gpt2", "neox", "llama", "bert")
EXAMPLES = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def tokenizer_of(kind: Kind) -> Tokenizer:
    return wrap(make_tokenizer(kind, 400), name=kind)


def jsonl(folder: Path, domain: str, texts: Sequence[str]) -> Source:
    path = folder / f"{domain}.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return Source(domain, str(path))


@dataclass
class Expected:
    """Sequences as the definitions say, one id at a time."""

    sequences: list[list[int]]
    starts: list[bool]


def expected(kind: Kind, texts: Sequence[str], length: int, *, packing: bool) -> Expected:
    reference = make_tokenizer(kind, 400)
    bos, separator = ([2], 2) if kind == "opt" else ([], 0)
    room = length - len(bos)
    runs: list[list[tuple[int, bool]]] = []
    joins = False
    for text in texts:
        ids = reference(text, add_special_tokens=False).input_ids
        if not ids:
            continue
        marked = [(token, place == 0) for place, token in enumerate(ids)]
        short = packing and len(ids) < room
        if short and joins:
            runs[-1] += [(separator, False), *marked]
        else:
            runs.append(marked)
        joins = short
    found = Expected([], [])
    for run in runs:
        while run:
            piece, run = run[:room], run[room:]  # noqa: PLW2901 - it shrinks
            found.sequences.append(bos + [token for token, _ in piece])
            found.starts.append(piece[0][1])
    return found


@EXAMPLES
@given(
    texts=DOCUMENTS,
    length=st.integers(2, 24),
    kind=st.sampled_from(["opt", "gpt2"]),
    packed=st.booleans(),
)
def test_sequences_are_those_of_the_definitions(
    tmp_path: Path, texts: list[str], length: int, kind: Kind, packed: bool
) -> None:
    source = jsonl(tmp_path, "x", texts)
    corpus = prepare(
        recipe([source], sequence_length=length, tokens_per_domain=None, packing=packed), tokenizer_of(kind)
    )
    wanted = expected(kind, texts, length, packing=packed)
    assert [corpus.sequence(i).tolist() for i in range(corpus.n_sequences)] == wanted.sequences
    assert corpus.starts_document.tolist() == wanted.starts
    assert corpus.has_bos == (kind == "opt")


def parts_of(documents: Sequence[np.ndarray], chosen: Random) -> Iterator[tuple[np.ndarray, bool]]:
    """Documents in parts of any lengths, none of them or of the documents included."""
    nothing = np.empty(0, dtype=np.int32)
    for document in documents:
        places = sorted(chosen.randrange(len(document) + 1) for _ in range(chosen.randrange(4)))
        for number, part in enumerate(np.split(document, places)):
            yield part, number == 0
        yield from [(nothing, True)] * chosen.randrange(2)


@EXAMPLES
@given(
    lengths=st.lists(st.integers(1, 30), max_size=20),
    length=st.integers(1, 12),
    packed=st.booleans(),
    chosen=st.randoms(use_true_random=False),
)
def test_cutting_keeps_every_id_in_order(lengths: list[int], length: int, packed: bool, chosen: Random) -> None:
    ids = np.arange(sum(lengths), dtype=np.int32)
    documents = np.split(ids, np.cumsum(lengths)[:-1]) if lengths else []
    separator = np.array([-1], dtype=np.int32)
    pieces = list(cut_sequences(parts_of(documents, chosen), separator, length, packing=packed))
    joined = np.concatenate([piece for piece, _ in pieces]) if pieces else ids
    assert joined[joined >= 0].tolist() == ids.tolist()
    assert all(1 <= len(piece) <= length for piece, _ in pieces)
    first_ids = {int(document[0]) for document in documents}
    assert all(starts == (int(piece[0]) in first_ids) for piece, starts in pieces)
    n_separators = int((joined < 0).sum())
    short = [len(document) < length for document in documents]
    assert n_separators == sum(packed and a and b for a, b in itertools.pairwise(short))


def corpus_of(folder: Path, *, limit: int | None = None, kind: Kind = "opt", length: int = 16) -> Corpus:
    sources = [
        jsonl(folder, "b", ["the school is near the river . " * n for n in (1, 9, 2, 2)]),
        jsonl(folder, "a", ["one two three", "def total ( values ) : " * 12, "x", "y"]),
    ]
    return prepare(recipe(sources, sequence_length=length, tokens_per_domain=limit), tokenizer_of(kind))


def test_fingerprint_is_what_the_definitions_say(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    digest = hashlib.sha256()
    for i in range(corpus.n_sequences):
        ids = corpus.sequence(i).tolist()
        digest.update(corpus.domains[corpus.domain_of[i]].encode() + b"\0")
        digest.update(struct.pack(f"<{len(ids) + 1}I", len(ids), *ids))
    assert corpus.sha256 == digest.hexdigest()


def test_one_text_has_one_text_hash_whatever_the_tokenizer_the_limit_and_the_file(tmp_path: Path) -> None:
    opt, gpt2 = corpus_of(tmp_path), corpus_of(tmp_path, kind="gpt2")
    limited, longer = corpus_of(tmp_path, limit=5), corpus_of(tmp_path, length=32)
    assert opt.text_sha256 == gpt2.text_sha256 == limited.text_sha256 == longer.text_sha256
    assert len({opt.sha256, gpt2.sha256, limited.sha256, longer.sha256}) == 4
    table = tmp_path / "c.parquet"
    pl.DataFrame({"text": ["one two", "three"]}).write_parquet(table)
    lines = jsonl(tmp_path, "c", ["one two", "three"])
    one, two = (
        prepare(recipe([source], sequence_length=16), tokenizer_of("opt"))
        for source in (Source("c", str(table)), lines)
    )
    assert one.text_sha256 == two.text_sha256
    assert one.text_sha256 != opt.text_sha256


@EXAMPLES
@given(limit=st.integers(1, 120), length=st.integers(2, 20))
def test_a_domain_ends_with_the_sequence_that_reaches_the_limit(tmp_path: Path, limit: int, length: int) -> None:
    whole, limited = corpus_of(tmp_path, length=length), corpus_of(tmp_path, limit=limit, length=length)
    for index in range(2):
        all_of_it = [whole.sequence(i).tolist() for i in np.flatnonzero(whole.domain_of == index).tolist()]
        taken: list[list[int]] = []
        while len(taken) < len(all_of_it) and sum(len(ids) - 1 for ids in taken) < limit:
            taken.append(all_of_it[len(taken)])
        numbers = np.flatnonzero(limited.domain_of == index).tolist()
        assert [limited.sequence(i).tolist() for i in numbers] == taken


@pytest.mark.parametrize("kind", KINDS)
def test_encoding_in_parts_changes_nothing(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = corpus_of(tmp_path, kind=kind)
    parts: list[str] = []
    monkeypatch.setattr(text_memory, "MOST_AT_ONCE", 24)
    monkeypatch.setattr(text_memory, "LEAST_AT_ONCE", 24)
    original = Tokenizer.encode_parts

    def noted(self: Tokenizer, texts: Sequence[str], **options: Any) -> Iterator[np.ndarray]:
        parts.extend(texts)
        return original(self, texts, **options)

    monkeypatch.setattr(Tokenizer, "encode_parts", noted)
    assert corpus_of(tmp_path, kind=kind).sha256 == whole.sha256
    # "def total ( values ) : " twelve times, and so on: more parts than the eight documents.
    assert len(parts) > 30
    assert max(map(len, parts)) < 24


def test_chunks_cover_the_sequences_in_order_and_are_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "CHUNK_TOKENS", 40)
    corpus = corpus_of(tmp_path)
    chunks = corpus.chunks()
    sizes = [sum(len(corpus.sequence(i)) for i in chunk) for chunk in chunks]
    assert [i for chunk in chunks for i in chunk] == list(range(corpus.n_sequences))
    assert max(sizes) <= 40
    for chunk, size in zip(chunks[:-1], sizes[:-1], strict=True):
        assert size + len(corpus.sequence(chunk.stop)) > 40


def test_a_sequence_longer_than_a_chunk_is_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "CHUNK_TOKENS", 3)
    corpus = corpus_of(tmp_path)
    assert [len(chunk) for chunk in corpus.chunks()] == [1] * corpus.n_sequences


@pytest.mark.parametrize("kind", ["opt", "gpt2"])
def test_the_warehouse_gives_back_the_same_corpus(tmp_path: Path, kind: Kind) -> None:
    corpus = corpus_of(tmp_path, kind=kind)
    row = {
        "name": corpus.name,
        "sha256": corpus.sha256,
        "text_sha256": corpus.text_sha256,
        "tokenizer_sha256": corpus.tokenizer_sha256,
        "sequence_length": corpus.sequence_length,
        "recipe": corpus.recipe,
    }
    shuffled = corpus.sequences_frame().sample(fraction=1, shuffle=True, seed=1)
    again = Corpus.from_frames(row, shuffled, has_bos=corpus.has_bos)
    for name, value in vars(corpus).items():
        found = getattr(again, name)
        if isinstance(value, np.ndarray):
            assert np.array_equal(found, value)
            assert found.dtype == value.dtype
        else:
            assert found == value, name


@pytest.mark.parametrize("kind", ["opt", "gpt2"])
def test_token_counts_leave_out_the_prepended_bos_alone(tmp_path: Path, kind: Kind) -> None:
    corpus = corpus_of(tmp_path, kind=kind)
    counts: Counter[tuple[str, int]] = Counter()
    for i in range(corpus.n_sequences):
        domain = corpus.domains[corpus.domain_of[i]]
        counts.update((domain, token) for token in corpus.sequence(i).tolist()[1 if kind == "opt" else 0 :])
    rows = list(corpus.token_counts_frame().iter_rows())
    assert {(domain, token): n for domain, token, n in rows} == counts
    assert rows == sorted(rows)
    separator = 2 if kind == "opt" else 0
    assert counts["a", separator] == 1  # a separator is a token like another


def test_the_recipe_is_known_before_anything_is_tokenized_and_says_what_made_the_corpus(tmp_path: Path) -> None:
    sources = [jsonl(tmp_path, "a", ["one"]), *parse_sources(["builtin:math"])]
    made = recipe(sources, sequence_length=32, tokens_per_domain=50)
    said = json.loads(made.json())
    assert [source["domain"] for source in said["sources"]] == ["a", "math"]
    assert all(len(source["sha256"]) == 64 for source in said["sources"])
    assert (said["sequence_length"], said["tokens_per_domain"], said["packing"]) == (32, 50, True)
    assert said["python"].count(".") == 2
    assert "python" not in json.loads(recipe(sources[:1], sequence_length=32).json())
    assert prepare(made, tokenizer_of("opt")).recipe == made.json()


def test_a_domain_is_tokenized_up_to_its_limit_and_hashed_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.txt"
    path.write_text("the school is near the river . " * 60_000)  # 1.9 MB
    seen: list[int] = []
    original = Tokenizer.encode_parts

    def noted(self: Tokenizer, texts: Sequence[str], **options: Any) -> Iterator[np.ndarray]:
        seen.extend(map(len, texts))
        return original(self, texts, **options)

    monkeypatch.setattr(Tokenizer, "encode_parts", noted)
    made = recipe([Source("x", str(path))], sequence_length=16, tokens_per_domain=100)
    corpus = prepare(made, tokenizer_of("opt"), memory=TextMemory(2_000_000))
    raw = path.read_bytes()
    assert corpus.text_sha256 == hashlib.sha256(b"x\0" + len(raw).to_bytes(8, "little") + raw).hexdigest()
    assert 100 <= corpus.n_counted < 116
    assert sum(seen) < 20_000


def test_a_text_without_a_place_to_cut_is_refused_where_memory_is_little(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("x" * 100_000)
    made = recipe([Source("x", str(path))], sequence_length=16)
    with pytest.raises(LimitExceeded, match=r"long\.txt has more than 0\.08 MB that the tokenizer of opt cannot split"):
        prepare(made, tokenizer_of("opt"), memory=TextMemory(20_000_000))
    assert prepare(made, tokenizer_of("opt"), memory=TextMemory(30_000_000)).n_counted > 1_000


def test_names(tmp_path: Path) -> None:
    assert recipe(parse_sources(["builtin"]), sequence_length=8).default_name == "builtin"
    assert corpus_of(tmp_path).name == "a+b"
    some = recipe([jsonl(tmp_path, "z", ["one"])], sequence_length=8)
    assert prepare(some, tokenizer_of("opt"), name="mine").name == "mine"


def test_a_domain_without_a_token_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = jsonl(tmp_path, "void", ["\u00e9"])
    tokenizer = tokenizer_of("opt")
    monkeypatch.setattr(Tokenizer, "encode_parts", lambda _, texts, **__: [np.empty(0, dtype=np.int32) for _ in texts])
    with pytest.raises(Unreadable, match="the text of the domain 'void' contains no tokens"):
        prepare(recipe([source], sequence_length=8), tokenizer)


def test_an_empty_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no document"):
        prepare(recipe([jsonl(tmp_path, "x", [])], sequence_length=8), tokenizer_of("opt"))


def test_lengths_and_limits_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    source = jsonl(tmp_path, "x", ["one"])
    with pytest.raises(Invalid, match="a sequence length of 1"):
        recipe([source], sequence_length=1)
    with pytest.raises(Invalid, match="a limit of 0 tokens"):
        recipe([source], sequence_length=8, tokens_per_domain=0)
