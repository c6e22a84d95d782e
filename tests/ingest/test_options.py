"""Options as keywords: the same request as the fields make, and one sentence for what makes none."""

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from neurothek.catalog.arguments import WrongCall
from neurothek.catalog.problems import Invalid
from neurothek.ingest.jobs import registry
from neurothek.ingest.options import IngestOptions, ingest_request
from neurothek.ingest.request import DEFAULT_JOBS, IngestRequest, TextRequest


def test_nothing_asked_is_what_is_usual() -> None:
    assert ingest_request() == IngestRequest()


@pytest.mark.parametrize(
    ("options", "request_"),
    [
        ({"job": "events"}, {"jobs": ("events",), "named": ("events",)}),
        ({"jobs": ["events", "exits"]}, {"jobs": ("events", "exits"), "named": ("events", "exits")}),
        ({"job": "all"}, {"jobs": registry.NAMES, "named": ()}),
        ({"job": ("events", "all")}, {"jobs": ("events", *registry.NAMES), "named": ("events",)}),
        ({"job": ()}, {"jobs": DEFAULT_JOBS}),
        ({"jobs": ("events",), "named": ()}, {"jobs": ("events",)}),
        ({"method": "mat"}, {"methods": ("mat",)}),
        ({"domain": {"prose"}}, {"domains": ("prose",)}),
        ({"clusters": 12}, {"clusters": (12,)}),
        ({"clusters": [12, 5]}, {"clusters": (12, 5)}),
        ({"memory": "4GB"}, {"memory_bytes": 4 * 10**9}),
        ({"memory_bytes": 12345}, {"memory_bytes": 12345}),
        ({"staging": "here"}, {"staging": Path("here")}),
        ({"staging": None}, {}),
        ({"active_above": 0}, {"active_above": 0.0}),
        ({"force": True, "device": "cpu", "dtype": "bfloat16"}, {"force": True, "device": "cpu", "dtype": "bfloat16"}),
        ({"corpus": "builtin"}, {"text": TextRequest(corpora=("builtin",))}),
        (
            {"corpora": ["a=b.txt", "builtin"], "corpus_name": "mine", "tokens": 10, "packing": False},
            {"text": TextRequest(("a=b.txt", "builtin"), "mine", tokens_per_domain=10, packing=False)},
        ),
        ({"sequence_length": 2}, {"text": TextRequest(sequence_length=2)}),
        ({"text": TextRequest(("x",))}, {"text": TextRequest(("x",))}),
    ],
)
def test_words_become_fields(options: dict[str, Any], request_: dict[str, Any]) -> None:
    assert ingest_request(**options) == IngestRequest(**request_)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"jbo": "events"}, WrongCall, "ingest() has no argument jbo; nearest: job"),
        ({"tokens_per_domain": 5}, WrongCall, "nearest: "),
        ({"job": "events", "jobs": "exits"}, Invalid, "jobs='exits' is not valid; jobs is given, too"),
        ({"text": TextRequest(), "tokens": 5, "packing": True}, Invalid, "text and tokens, packing both say"),
        ({"memory": "much"}, Invalid, "memory='much' is not valid; give a size, such as 4GB"),
        ({"memory": 0}, Invalid, "memory=0 is not valid; give 1 or more"),
        ({"memory": 1.5}, Invalid, "memory=1.5 is not valid; give a whole number"),
        ({"sequence_length": 1}, Invalid, "sequence_length=1 is not valid; give 2 or more"),
        ({"examples": 0}, Invalid, "examples=0 is not valid; give 1 or more"),
        ({"clusters": [3, 0]}, Invalid, "clusters=[3, 0] is not valid; give 1 or more"),
        ({"clusters": "five"}, Invalid, "clusters=('five',) is not valid"),
        ({"keep": "some"}, Invalid, "keep='some' is not valid; give 'last' or 'all'"),
        ({"fit": "9000"}, Invalid, "fit='9000' is not valid; give a whole number or None"),
        ({"force": 1}, Invalid, "force=1 is not valid; give True or False"),
        ({"corpus": 5}, Invalid, "corpus=(5,) is not valid"),
        ({"staging": 5}, Invalid, "staging=5 is not valid; give a path or None"),
    ],
)
def test_slips_are_named(options: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        ingest_request(**options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_type_checkers_know_every_word() -> None:
    """Fields of a request, and what the command calls them."""
    singular = {"job", "corpus", "corpora", "corpus_name", "tokens", "sequence_length", "packing"}
    also = {"method", "domain", "memory"}
    of_queries = {"interventions", "intervention_tokens", "random_sets", "steering", "single_neurons"}
    of_queries |= {"scored_neurons", "contrasts"}
    assert (
        set(get_type_hints(IngestOptions)) == {one.name for one in fields(IngestRequest)} - of_queries | singular | also
    )
