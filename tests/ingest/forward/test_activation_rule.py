"""In a gated feed-forward network the gates decide what is active, and the products are what is summed and shown."""

from collections.abc import Callable, Sequence

import polars as pl
import pytest
import torch
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.jobs.activity.job import ActivityObserver
from neurothek.ingest.jobs.contexts.draws import Amounts, Draws
from neurothek.ingest.jobs.contexts.job import ContextsObserver
from neurothek.ingest.jobs.ngrams.job import NgramsObserver
from neurothek.ingest.jobs.positions.job import PositionsObserver
from tests.support.coefficients import coefficients, corpus, output_of, padded

D_FFN = 24
LENGTHS = [("a", 9), ("b", 40), ("a", 17), ("b", 2), ("c", 40), ("a", 40), ("c", 3)]
BY_GATE, BY_PRODUCT = ActivationRule(0.0, is_of_gate=True), ActivationRule(0.0)

Make = Callable[[ActivationRule], Observer]

OBSERVERS: dict[str, Make] = {
    "activity": lambda rule: ActivityObserver(D_FFN, rule, is_non_negative=False),
    "contexts": lambda rule: ContextsObserver(
        D_FFN, Draws.of(corpus(LENGTHS), n_places=2, seed=0), Amounts.of(is_non_negative=False), is_non_negative=False
    ),
    "ngrams": lambda rule: NgramsObserver(D_FFN, rule),
    "positions": lambda rule: PositionsObserver(D_FFN, rule, sequence_length=40),
}


def seen(
    make: Make, rule: ActivationRule, text: Corpus, made: Sequence[Tensor], gates: Sequence[Tensor] | None
) -> pl.DataFrame:
    observer = make(rule)
    shown = padded(text, range(text.n_sequences), made, batch_tokens=90)
    gated = padded(text, range(text.n_sequences), gates or made, batch_tokens=90)
    for (batch, products), (_, decisive) in zip(shown, gated, strict=True):
        observer.observe(batch, output_of(products, decisive if gates else None))
    return observer.result()


@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("name", OBSERVERS)
def test_what_is_counted_is_the_gates_and_what_is_summed_the_products(name: str, has_bos: bool) -> None:
    text, make = corpus(LENGTHS, has_bos=has_bos), OBSERVERS[name]
    made = coefficients(text, D_FFN, share=0.5, relu=False)
    gates = coefficients(text, D_FFN, share=0.3, relu=False, seed=1)
    found = seen(make, BY_GATE, text, made, gates)
    of_gates, of_products = (seen(make, BY_PRODUCT, text, one, None) for one in (gates, made))
    assert not of_gates.equals(of_products)
    if name == "activity":
        counted = ["n_active", "n_active_bos", "first_active"]
        assert found.select(counted).equals(of_gates.select(counted))
        assert found.drop(counted).equals(of_products.drop(counted))
        # The count itself, by hand: gates of one neuron at the counted positions of one domain.
        first = int(has_bos)
        expected = sum(
            int((gates[number][first:, 5] > 0).sum())
            for number in range(text.n_sequences)
            if text.domain_of[number] == 0
        )
        assert found.filter(domain=0, neuron=5)["n_active"].item() == expected
    else:
        assert found.equals(of_products if name == "contexts" else of_gates)


def test_a_threshold_that_a_person_asked_for_is_one_of_products() -> None:
    """The gates are handed over all the same, and play no part."""
    text, asked = corpus(LENGTHS), ActivationRule(0.25)
    made = coefficients(text, D_FFN, share=0.5, relu=False)
    gates = coefficients(text, D_FFN, share=0.3, relu=False, seed=1)
    for name in ("activity", "ngrams", "positions"):
        assert seen(OBSERVERS[name], asked, text, made, gates).equals(seen(OBSERVERS[name], asked, text, made, None))


def test_gates_in_half_precision_are_compared_as_they_are() -> None:
    text = corpus([("a", 12)], has_bos=False)
    made = [torch.ones(12, D_FFN, dtype=torch.bfloat16)]
    gates = [torch.full((12, D_FFN), -1e-6).bfloat16()]
    gates[0][3] = 1e-6
    for name in ("activity", "ngrams", "positions"):
        half = seen(OBSERVERS[name], BY_GATE, text, made, gates)
        whole = seen(OBSERVERS[name], BY_GATE, text, [made[0].float()], [gates[0].float()])
        assert half.equals(whole)


def test_rules_say_what_they_are() -> None:
    assert [str(rule) for rule in (BY_GATE, BY_PRODUCT, ActivationRule(None), ActivationRule(0.5))] == [
        "gate > 0",
        "m > 0",
        "m != 0",
        "m > 0.5",
    ]
