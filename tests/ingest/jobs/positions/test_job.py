"""The job `positions` against loops over the coefficients it saw: full sequences, domains, chunks, formats."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal

from neurothek.catalog.tables.texts import POSITIONS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.jobs.positions.job import PositionsJob, PositionsObserver
from neurothek.ingest.jobs.positions.profiles import measure_profiles
from neurothek.ingest.models.transformer import Shape
from tests.support import jobs
from tests.support.coefficients import output_of, padded

D_FFN = 6
DOMAINS = ("prose", "code")
RELU, GELU = ActivationRule(None), ActivationRule(0.0)


def corpus(lengths: Sequence[int], *, has_bos: bool, length: int = 12) -> Corpus:
    """Sequences of these lengths, the first half prose; every id is a zero."""
    n = len(lengths)
    return Corpus(
        name="made",
        sha256="c",
        text_sha256="t",
        tokenizer_sha256="k",
        sequence_length=length,
        has_bos=has_bos,
        domains=DOMAINS,
        tokens=np.zeros(sum(lengths), dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        domain_of=np.repeat([0, 1], [n // 2, n - n // 2]).astype(np.int16),
        starts_document=np.ones(n, dtype=np.bool_),
        recipe="{}",
    )


@cache
def coefficients(sequence: int, length: int) -> torch.Tensor:
    """[length d_ffn]: neurons 0 to 5 are dead, always on, independent, on early, on late in code, and an oscillator."""
    draw = torch.Generator().manual_seed(sequence)
    made = torch.randn(length, D_FFN, generator=draw).relu()
    position = torch.arange(length)
    made[:, 0] = 0
    made[:, 1] += 0.5
    made[:, 3] = (position < length // 2) * 2.0
    made[:, 4] = ((position > length // 2) & (sequence % 2 == 1)) * 2.0
    made[:, 5] = (position // 5 % 2 == 0) * 1.0
    return made


def folded(
    text: Corpus,
    *,
    rule: ActivationRule = RELU,
    batch_tokens: int = 40,
    chunks: Sequence[range] | None = None,
    dtype: torch.dtype = torch.float32,
    shift: float = 0.0,
) -> pl.DataFrame:
    """What the job says when the chunks are shown to it."""
    job = PositionsJob(jobs.context_of(text, shape=made_shape()), rule)
    partials = []
    for chunk in chunks or [range(text.n_sequences)]:
        observer = job.observer(0)
        for batch in batches(text, chunk, batch_tokens=batch_tokens):
            # What stands behind a sequence's end must be read by nobody: it would fire everywhere.
            shown = torch.full((*batch.tokens.shape, D_FFN), 9.0)
            for row, length in enumerate(batch.lengths):
                shown[row, :length] = coefficients(batch.first_sequence + row, length) - shift
            observer.observe(batch, output_of(shown.to(dtype)))
        partials.append(observer.result())
    return job.fold(3, jobs.partials(*partials))["positions"]


def made_shape() -> Shape:
    return Shape(
        architecture="opt",
        activation="relu",
        norm_position="pre",
        position_encoding="learned",
        n_layers=4,
        d_model=4,
        d_ffn=D_FFN,
        n_heads=1,
        vocab_size=10,
        context_length=64,
        n_parameters=1,
        n_parameters_embedding=1,
        has_exact_zeros=True,
    )


def counted(text: Corpus, neuron: int, domain: str | None, *, above: float = 0.0) -> tuple[list[int], int]:
    """Counts at every counted position over full-length sequences, and how many there are, by a loop."""
    first = 1 if text.has_bos else 0
    counts = [0] * (text.sequence_length - first)
    n = 0
    for sequence in range(text.n_sequences):
        length = len(text.sequence(sequence))
        if length != text.sequence_length or domain not in (None, DOMAINS[int(text.domain_of[sequence])]):
            continue
        n += 1
        for position in range(first, length):
            counts[position - first] += float(coefficients(sequence, length)[position, neuron]) > above
    return counts, n


LENGTHS = (12, 12, 7, 12, 12, 12, 3, 12, 12, 12, 11, 12, 1, 12, 12)


@pytest.mark.parametrize("has_bos", [True, False])
def test_rows_are_those_of_a_loop(has_bos: bool) -> None:
    text = corpus(LENGTHS, has_bos=has_bos)
    rows = folded(text).rows(named=True)
    for neuron in range(D_FFN):
        own = {row["domain"]: row for row in rows if row["neuron"] == neuron}
        pooled, n = counted(text, neuron, None)
        expected = measure_profiles(np.array([pooled]), n, sequence_length=12)
        keeps = expected.mutual_information_corrected[0] >= 0.01
        assert set(own) == ({"all", *DOMAINS} if keeps else {"all"})
        for domain, row in own.items():
            counts, n = counted(text, neuron, None if domain == "all" else domain)
            expected = measure_profiles(np.array([counts]), n, sequence_length=12)
            assert (row["layer"], row["first_position"], row["n_sequences"]) == (3, int(has_bos), n)
            for name, values in vars(expected).items():
                assert row[name] == (None if np.isnan(values[0]) else values[0]), name
            assert row["counts_64"] == counts  # fewer than 64 positions are a bin each
            assert row["counts"] == (counts if row["mutual_information_corrected"] >= 0.01 else None)


def test_the_rows_cover_what_they_should() -> None:
    """The planted neurons are seen, so the loop above compared something."""
    rows = folded(corpus(LENGTHS, has_bos=True))
    kept = rows.filter(pl.col("domain") == "all", pl.col("counts").is_not_null())["neuron"].to_list()
    assert {3, 5} <= set(kept)
    assert not {0, 1} & set(kept)
    assert sorted(rows.filter(pl.col("domain") == "all")["neuron"]) == list(range(D_FFN))


def test_the_quiet_lie_beside_the_quiet() -> None:
    rows = folded(corpus(LENGTHS, has_bos=True)).rows(named=True)
    places = [(row["domain"], sum(row["counts_64"]), row["neuron"]) for row in rows]
    assert places == sorted(places)
    assert [neuron for _, _, neuron in places] != sorted(neuron for _, _, neuron in places)


@pytest.mark.parametrize("batch_tokens", [1, 24, 40, 1000])
@pytest.mark.parametrize("cut", [(15,), (1, 14), (4, 9, 11), tuple(range(1, 15))])
def test_chunks_and_batches_change_no_bit(batch_tokens: int, cut: tuple[int, ...]) -> None:
    text = corpus(LENGTHS, has_bos=True)
    ends = [0, *cut, text.n_sequences]
    chunks = [range(start, stop) for start, stop in pairwise(ends) if start < stop]
    assert_frame_equal(folded(text, batch_tokens=batch_tokens, chunks=chunks), folded(text), check_exact=True)


def test_a_partial_survives_its_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Partials lie in Parquet between the sweep and the fold, those without a full-length sequence too."""
    folder = tmp_path_factory.mktemp("partials")
    for number, lengths in enumerate([LENGTHS, (3, 5)]):
        text = corpus(lengths, has_bos=True)
        job = PositionsJob(jobs.context_of(text, shape=made_shape()), RELU)
        observer = job.observer(0)
        for batch in batches(text, range(text.n_sequences), batch_tokens=40):
            observer.observe(batch, output_of(torch.ones(*batch.tokens.shape, D_FFN)))
        partial = observer.result()
        partial.write_parquet(folder / f"{number}.parquet", compression="zstd")
        read = pl.read_parquet(folder / f"{number}.parquet")
        from_file, from_memory = (job.fold(0, jobs.partials(one))["positions"] for one in (read, partial))
        assert_frame_equal(from_file, from_memory)


def test_without_a_full_length_sequence_there_are_rows_and_no_numbers() -> None:
    rows = folded(corpus((5, 11, 3), has_bos=True))
    assert rows.height == D_FFN
    assert POSITIONS.check(rows) is rows
    assert rows["n_sequences"].to_list() == [0] * D_FFN
    assert rows["mutual_information"].null_count() == rows["counts"].null_count() == D_FFN
    assert rows["counts_64"].to_list() == [[0] * 11] * D_FFN


def test_a_domain_of_short_sequences_has_no_row() -> None:
    text = corpus((12, 12, 12, 5, 6, 7), has_bos=True)
    rows = folded(text)
    assert set(rows["domain"]) == {"all", "prose"}
    assert rows.filter(pl.col("domain") == "all")["n_sequences"].unique().to_list() == [3]


def test_beyond_relu_active_means_above_the_threshold() -> None:
    text = corpus(LENGTHS, has_bos=False)
    for rule, above in ((GELU, 0.25), (ActivationRule(0.5), 0.75)):
        rows = folded(text, rule=rule, shift=0.25).filter(pl.col("domain") == "all").sort("neuron")
        for neuron, counts in enumerate(rows["counts_64"].to_list()):
            assert counts == counted(text, neuron, None, above=above)[0]


def test_half_precision_is_counted_alike() -> None:
    text = corpus(LENGTHS, has_bos=True)
    # Rounding to bfloat16 keeps zeros zero and numbers of this size away from it.
    assert_frame_equal(folded(text, dtype=torch.bfloat16), folded(text))


def test_long_sequences_are_read_in_blocks() -> None:
    """64 bins, and blocks of positions shorter than the sequence."""
    text = corpus((20_000, 20_000, 20_000), has_bos=True, length=20_000)
    pooled = folded(text, batch_tokens=20_000).filter(pl.col("domain") == "all").sort("neuron")
    for neuron, bins in enumerate(pooled["counts_64"].to_list()):
        active = sum((coefficients(sequence, 20_000)[1:, neuron] > 0).int() for sequence in range(3))
        assert isinstance(active, torch.Tensor)
        expected = [0] * 64
        for position, count in enumerate(active.tolist()):
            expected[position * 64 // 19_999] += count
        assert bins == expected


def test_strong_activations_count_at_the_pole_of_the_strongest() -> None:
    """Neurons 1 and 4 are strongest below 0, which only the second chunk shows of one of them."""
    text = corpus([12] * 8, has_bos=True)
    made = [torch.randn(12, D_FFN, generator=torch.Generator().manual_seed(number)) for number in range(8)]
    for sequence in made:
        sequence[4, 1] = -9.0
    made[7][3, 4], made[7][0, 2] = -9.0, -99.0
    bounds = torch.tensor([0.1, 0.4, 0.7, 1.0, 1.3, 20.0])
    job = PositionsJob(jobs.context_of(text, shape=made_shape()), ActivationRule(3.0, is_relative=True))
    partials = []
    for chunk in (range(0, 3), range(3, 8)):
        observer = PositionsObserver(D_FFN, *job.rule.poles(bounds, both=True), sequence_length=12)
        for batch, shown in padded(text, chunk, made, batch_tokens=30):
            observer.observe(batch, output_of(shown))
        partials.append(observer.result())
    rows = job.fold(3, jobs.partials(*partials))["positions"].filter(domain="all").sort("neuron")
    for neuron in range(D_FFN):
        own = [float(sequence[position, neuron]) for sequence in made for position in range(1, 12)]
        sign = -1 if -min(own) > max(own) else 1
        assert (sign == -1) == (neuron in (1, 4)) or neuron not in (1, 2, 4)
        counts = [
            sum(sign * float(sequence[position, neuron]) > float(bounds[neuron]) for sequence in made)
            for position in range(1, 12)
        ]
        assert rows["counts_64"][neuron].to_list() == counts
