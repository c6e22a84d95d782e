"""Models kept open: the same one for the same weights, another for others, and no more than fit."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from neurothek.catalog.problems import Conflict, Unavailable
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.trace.open_models import OpenModels
from neurothek.ingest.trace.trace import trace
from tests.support.models import build

LARGE = 2**30


@pytest.fixture
def known(tmp_path: Path) -> Measured:
    folder = build(tmp_path / "tiny", "opt", d_ffn=8)
    return Measured("tiny", str(folder), None, find(str(folder)).weights_sha256)


def test_a_model_that_was_asked_is_not_opened_again(known: Measured) -> None:
    models = OpenModels(LARGE)
    with models.model(known) as first:
        told = trace(*first, "one two")
    with models.model(known) as second:
        assert second[0] is first[0]
        again = trace(*second, "one two")
    assert again.top_tokens.equals(told.top_tokens)
    with models.model(known, weights=known.source) as elsewhere:
        assert elsewhere[0] is not first[0]


def test_what_does_not_fit_is_not_kept(known: Measured, tmp_path: Path) -> None:
    folder = build(tmp_path / "other", "opt", d_ffn=8, seed=1)
    other = Measured("other", str(folder), None, find(str(folder)).weights_sha256)
    with OpenModels(LARGE).model(known) as opened:
        n_bytes = opened[0].blocks_bytes(is_resident=True) + opened[0].embedding_bytes
    small, single, both = OpenModels(n_bytes - 1), OpenModels(2 * n_bytes - 1), OpenModels(2 * n_bytes)
    for models, is_kept in ((small, False), (single, False), (both, True)):
        with models.model(known) as first:
            pass
        with models.model(other):
            pass
        with models.model(known) as again:
            assert (again[0] is first[0]) == is_kept
    with small.model(known) as first, pytest.raises(AttributeError):
        raise AttributeError
    with small.model(known) as again:
        assert again[0] is not first[0]


def test_weights_that_went_away_or_were_changed_are_not_answered_from_memory(known: Measured, tmp_path: Path) -> None:
    models, folder = OpenModels(LARGE), Path(known.source)
    with models.model(known):
        pass
    shutil.move(folder, tmp_path / "away")
    with pytest.raises(Unavailable, match="needs the weights of"), models.model(known):
        pass
    build(folder, "opt", d_ffn=8, seed=1)
    with pytest.raises(Conflict, match="are not the ones that were measured"), models.model(known):
        pass
    shutil.rmtree(folder)
    shutil.move(tmp_path / "away", folder)
    with models.model(known) as opened:
        assert trace(*opened, "one two").tokens


def test_one_question_waits_for_another(known: Measured) -> None:
    models, asks, order = OpenModels(LARGE), Event(), list[str]()

    def ask() -> None:
        asks.set()
        with models.model(known):
            order.append("second")

    with ThreadPoolExecutor() as workers:
        with models.model(known):
            second = workers.submit(ask)
            asks.wait()
            time.sleep(0.05)
            order.append("first")
        second.result()
    assert order == ["first", "second"]
