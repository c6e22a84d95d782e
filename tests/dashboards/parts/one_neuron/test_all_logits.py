"""The histogram of all logits on a neuron's page, and what stands there without one."""

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.queries.neuron.logits import logits_sentence
from tests.support.tiny import WITHOUT_HISTOGRAMS, address

Opener = Callable[..., AppTest]


def captions(page: AppTest) -> list[str]:
    return [caption.value.replace("\\", "") for caption in page.caption]


def test_the_page_tells_the_tails(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron=address((0, 1, 2)))
    found = neurothek.open(full_path).neuron(address((0, 1, 2)))
    assert logits_sentence(found.logits, found.facts) in captions(opened)
    assert not opened.exception


def test_a_model_of_an_earlier_release_has_a_command(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron=address((WITHOUT_HISTOGRAMS, 0, 0)))
    assert any(
        said.startswith("The distribution of all logits was not counted when tiny-2m-nopos")
        for said in captions(opened)
    )
    assert any("ingest tiny-2m-nopos --job projections --force" in code.value for code in opened.code)
