"""What neurons become, in words; and one sentence for what they cannot become."""

import pytest

from catalog.errors import NeurothekError
from ingest.interventions.planned import Planned, Way, interventions, request_for
from ingest.request import ModelSource


@pytest.mark.parametrize(
    ("text", "way", "told"),
    [
        ("0", Way("set", 0.0, "after"), "set to 0"),
        ("3", Way("set", 3.0, "after"), "set to 3"),
        (" -1.5 ", Way("set", -1.5, "after"), "set to -1.5"),
        ("x0.5", Way("scale", 0.5, "after"), "multiplied by 0.5"),
        ("X2", Way("scale", 2.0, "after"), "multiplied by 2"),
        ("mean", Way("mean", None, "after"), "set to their means over the corpus"),
    ],
)
def test_ways(text: str, way: Way, told: str) -> None:
    assert Way.parse(text) == way
    assert way.told() == told
    if way.how != "mean":
        assert Way.parse(text, pre=True).told() == f"{told}, before the non-linearity"


@pytest.mark.parametrize("text", ["", "off", "x", "nan", "inf", "x-inf", "1e31", "0x5", "5%"])
def test_what_is_no_way_is_refused(text: str) -> None:
    with pytest.raises(NeurothekError, match=r"give a number such as 0 or 3, mean, or x0\.5 to scale") as caught:
        Way.parse(text)
    assert repr(text) in str(caught.value)


def test_a_mean_before_the_non_linearity_is_refused() -> None:
    with pytest.raises(NeurothekError, match="after the non-linearity"):
        Way.parse("mean", pre=True)


def test_interventions_are_called_what_was_asked_or_as_a_person_says() -> None:
    chosen = {"dead": ((0, 1),), "positional": ((0, 2), (1, 3))}
    made = interventions(chosen, Way.parse("0"), name=None, of_kinds=True)
    assert [one.name for one in made] == ["dead set to 0", "positional set to 0"]
    assert [one.kind for one in made] == ["dead", "positional"]
    (mine,) = interventions({"where frequency < 0.1": ((0, 1),)}, Way.parse("x2"), name="mine", of_kinds=False)
    assert (mine.name, mine.kind, mine.how, mine.value) == ("mine", None, "scale", 2.0)
    (long,) = interventions({"where " + "x" * 500: ((0, 1),)}, Way.parse("0"), name=None, of_kinds=False)
    assert len(long.name) <= 120
    assert long.name.startswith("where xxx")
    (other,) = interventions({"where " + "x" * 501: ((0, 1),)}, Way.parse("0"), name=None, of_kinds=False)
    assert other.name != long.name


def test_a_plan_says_what_it_does_before_it_does_it() -> None:
    made = interventions({"dead": ((0, 1), (0, 2))}, Way.parse("0"), name=None, of_kinds=True)
    request = request_for(made, corpus_id=3, tokens=1000, n_sets=20, force=False)
    planned = Planned("opt", request, ModelSource("opt"), 3072, "builtin")
    assert planned.names == ("dead set to 0",)
    assert planned.told() == [
        "dead set to 0: 2 of the 3,072 neurons of opt",
        "measured on builtin, whole sequences up to 1,000 ids of each domain, beside 20 random sets of as many neurons",
    ]
    assert (request.jobs, request.text.corpus_id) == (("interventions",), 3)
