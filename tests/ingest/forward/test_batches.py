"""How chunks are cut into batches: whole sequences, in order, by the corpus and a number alone."""

from hypothesis import given
from hypothesis import strategies as st

from neurothek.ingest.forward.batches import batches
from tests.support.coefficients import corpus


@given(
    lengths=st.lists(st.integers(2, 30), min_size=1, max_size=40), batch_tokens=st.integers(1, 100), bos=st.booleans()
)
def test_batches_hold_every_sequence_once_and_in_order(lengths: list[int], batch_tokens: int, bos: bool) -> None:
    text = corpus([("a", length) for length in lengths], has_bos=bos)
    cut = list(batches(text, range(text.n_sequences), batch_tokens=batch_tokens))
    assert [length for batch in cut for length in batch.lengths] == lengths
    assert [batch.first_sequence for batch in cut] == [sum(len(b.lengths) for b in cut[:i]) for i in range(len(cut))]
    for batch, following in zip(cut, [*cut[1:], None], strict=True):
        rows, width = batch.tokens.shape
        assert rows == len(batch.lengths)
        assert width == max(batch.lengths)
        assert rows == 1 or rows * width <= batch_tokens
        if following is not None:
            assert (rows + 1) * max(width, following.lengths[0]) > batch_tokens
        assert batch.first_counted == int(bos)


def test_padding_stands_to_the_right_and_is_0() -> None:
    text = corpus([("a", 3), ("b", 5), ("b", 2)])
    (batch,) = batches(text, range(3), batch_tokens=100)
    for row in range(3):
        ids = text.sequence(row).tolist()
        assert batch.tokens[row].tolist() == ids + [0] * (5 - len(ids))
    assert batch.domains == (0, 1, 1)


def test_only_the_chunk_is_cut() -> None:
    text = corpus([("a", 4)] * 10)
    cut = list(batches(text, range(3, 7), batch_tokens=12))
    assert [(batch.first_sequence, len(batch.lengths)) for batch in cut] == [(3, 3), (6, 1)]
