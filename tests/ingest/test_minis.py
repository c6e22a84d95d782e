"""The family that ships: small files, honest cards, larger better than smaller, everything better than counting."""

import re
from pathlib import Path

import pytest

from neurothek.ingest import minis

CHECKPOINTS = ("mini-opt-2m-step250", "mini-opt-2m-step1000")
FINISHED = (
    *("mini-opt-0.7m", "mini-opt-0.7m-seed1", "mini-opt-0.7m-postnorm"),
    *("mini-opt-2m", "mini-opt-2m-nopos", "mini-opt-5m"),
)


def shipped(name: str) -> Path:
    folder = minis.folder(name)
    assert folder is not None
    return folder


def losses(name: str) -> dict[str, tuple[float, float, float]]:
    """Domain -> held-out loss of the model, the bigram and the unigram, as the card says."""
    card = (shipped(name) / "README.md").read_text()
    rows = re.findall(r"^\| (\w+) \| [\d,]+ \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", card, re.MULTILINE)
    return {domain: (float(model), float(bigram), float(unigram)) for domain, model, bigram, unigram in rows}


def test_the_family_is_complete_and_small() -> None:
    assert minis.names() == sorted([*CHECKPOINTS, *FINISHED])
    assert minis.folder("mini-opt-66b") is None
    assert minis.sizes() == ["mini-opt-0.7m", "mini-opt-2m", "mini-opt-5m"]
    sizes = [path.stat().st_size for name in minis.names() for path in shipped(name).iterdir()]
    assert max(sizes) <= 15 * 2**20
    assert sum(sizes) < 40_000_000


def test_the_family_shares_one_tokenizer() -> None:
    assert len({(shipped(name) / "tokenizer.json").read_bytes() for name in minis.names()}) == 1


def test_every_finished_model_beats_counting_pairs_in_every_domain(subtests: pytest.Subtests) -> None:
    for name in FINISHED:
        with subtests.test(name=name):
            found = losses(name)
            assert set(found) == {"books", "code", "math", "prose", "wiki"}
            for model, bigram, unigram in found.values():
                assert model < bigram < unigram


def test_larger_is_better_in_every_domain() -> None:
    smallest, middle, largest = (losses(name) for name in ("mini-opt-0.7m", "mini-opt-2m", "mini-opt-5m"))
    for domain in smallest:
        assert smallest[domain][0] > middle[domain][0] > largest[domain][0]


def test_longer_training_is_better_in_every_domain() -> None:
    early, later, last = (losses(name) for name in (*CHECKPOINTS, "mini-opt-2m"))
    for domain in early:
        assert early[domain][0] > later[domain][0] > last[domain][0]
