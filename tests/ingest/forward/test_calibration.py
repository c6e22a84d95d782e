"""How large coefficients are, against loops over what whole sequences do; which pole is the strongest."""

from pathlib import Path

import numpy as np
import pytest
import torch

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward import calibration
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.forward.calibration import calibration_text, root_mean_square
from neurothek.ingest.forward.coefficient_range import CoefficientRange, strongest_below_zero
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.planning.timing import beginning
from tests.support.coefficients import coefficients, corpus, padded
from tests.support.models import Kind, build

LENGTHS = [("a", 30), ("a", 44), ("a", 50), ("b", 9), ("b", 2), ("c", 50), ("c", 50)]
KINDS: tuple[Kind, ...] = ("gpt2", "llama", "gemma3")


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("calibration") / request.param, request.param)


def opened(folder: Path, *, resident: bool = True) -> Transformer:
    return open_transformer(find(str(folder)), resident=resident)


def of_whole_text(transformer: Transformer, text: Corpus, layer: int) -> list[np.ndarray]:
    """[length d_ffn] of each sequence, every one taken through the model whole and alone."""
    seen = []
    for batch in batches(text, range(text.n_sequences), batch_tokens=1):
        stream = transformer.embed(batch.tokens)
        for number in range(layer + 1):
            with transformer.block(number) as block:
                output = block(stream)
            stream = output.stream
        seen.append(output.coefficients[0].double().numpy())
    return seen


@pytest.mark.parametrize("has_bos", [True, False])
def test_the_root_mean_square_is_that_of_the_first_positions_of_every_domain(
    folder: Path, has_bos: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "N_POSITIONS", 120)
    transformer, text = opened(folder), corpus(LENGTHS, has_bos=has_bos, vocab=90)
    first = int(has_bos)
    for layer in range(transformer.shape.n_layers):
        squares, n_read = 0.0, 0
        for domain in range(3):
            left = 40
            for number, made in enumerate(of_whole_text(transformer, text, layer)):
                if text.domain_of[number] == domain:
                    for position in range(first, len(made)):
                        if left > 0:
                            squares = squares + made[position] ** 2
                            left, n_read = left - 1, n_read + 1
        found = root_mean_square(transformer, text, layer, batch_tokens=200).numpy()
        np.testing.assert_allclose(found, np.sqrt(squares / n_read), rtol=1e-5)
        # Of domain b there are fewer than its share.
        assert n_read == 40 + 40 + (9 + 2 - 2 * first)


def test_the_same_numbers_while_a_block_is_at_work_and_not_resident(folder: Path) -> None:
    text = corpus(LENGTHS, vocab=90)
    expected = [root_mean_square(opened(folder), text, layer, batch_tokens=200) for layer in range(2)]
    transformer = opened(folder, resident=False)
    with transformer.block(1) as block:
        found = [root_mean_square(transformer, text, layer, batch_tokens=200) for layer in (1, 0)]
        # The block's weights are still there.
        assert block(torch.ones(1, 3, transformer.shape.d_model)).stream.isfinite().all()
    assert all(torch.equal(one, other) for one, other in zip(found[::-1], expected, strict=True))


def test_the_beginning_of_a_text_is_another_text(folder: Path) -> None:
    transformer, text = opened(folder), corpus(LENGTHS, vocab=90)
    first, whole = (root_mean_square(transformer, one, 0, batch_tokens=200) for one in (beginning(text, 2), text))
    assert not torch.equal(first, whole)
    assert torch.equal(whole, root_mean_square(opened(folder), text, 0, batch_tokens=200))


def test_a_sequence_is_cut_and_none_is_read_twice() -> None:
    text = calibration_text(corpus([("a", 3_000), ("b", 100), ("b", 3_000)]))
    assert np.diff(text.offsets).tolist() == [1_025, 100, 926]
    assert text.domain_of.tolist() == [0, 1, 1]
    assert text.n_counted == 2_048


def test_extremes_are_those_of_counted_positions() -> None:
    text = corpus(LENGTHS)
    made = coefficients(text, 7, share=0.4, relu=False)
    made[1][0] = 50.0
    made[2][5, 3], made[5][6, 4] = -40.0, 40.0
    parts = []
    for chunk in (range(0, 3), range(3, 7)):
        extremes = CoefficientRange(7)
        for batch, shown in padded(text, chunk, made, batch_tokens=90):
            extremes.observe(batch, shown)
        parts.append(extremes.result())
    counted = np.concatenate([sequence[1:].numpy() for sequence in made])
    for neuron in range(7):
        smallest, largest = min(counted[:, neuron]), max(counted[:, neuron])
        assert min(part[0, neuron] for part in parts) == smallest
        assert max(part[1, neuron] for part in parts) == largest
        assert strongest_below_zero(parts)[neuron] == (-smallest > largest)
    assert strongest_below_zero(parts)[[3, 4]].tolist() == [True, False]
