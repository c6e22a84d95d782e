"""What neurons become, in words; and one sentence for what they cannot become."""

import pytest

from neurothek.catalog.problems import NeurothekError
from neurothek.ingest.interventions.plan import InterventionPlan, Operation, interventions, request_for
from neurothek.ingest.request import ModelSource, Steering


def test_ways(subtests: pytest.Subtests) -> None:
    for text, way, told in [
        ("0", Operation("set", 0.0, "after"), "set to 0"),
        ("-0", Operation("set", 0.0, "after"), "set to 0"),
        ("3", Operation("set", 3.0, "after"), "set to 3"),
        (" -1.5 ", Operation("set", -1.5, "after"), "set to -1.5"),
        ("x0.5", Operation("scale", 0.5, "after"), "multiplied by 0.5"),
        ("X2", Operation("scale", 2.0, "after"), "multiplied by 2"),
        ("mean", Operation("mean", None, "after"), "set to their means over the corpus"),
    ]:
        with subtests.test(text=text, way=way, told=told):
            assert Operation.parse(text) == way
            assert way.description() == told
            if way.how != "mean":
                assert Operation.parse(text, pre=True).description() == f"{told}, before the non-linearity"


def test_what_is_no_way_is_refused(subtests: pytest.Subtests) -> None:
    for text in ["", "off", "x", "nan", "inf", "x-inf", "1e7", "x-1e7", "0x5", "5%"]:
        with subtests.test(text=text):
            with pytest.raises(
                NeurothekError, match=r"give a number such as 0 or 3, mean, or x0\.5 to scale"
            ) as caught:
                Operation.parse(text)
            assert repr(text) in str(caught.value)


def test_a_mean_before_the_non_linearity_is_refused() -> None:
    with pytest.raises(NeurothekError, match="after the non-linearity"):
        Operation.parse("mean", pre=True)


def test_positions_are_part_of_a_way() -> None:
    assert Operation.parse("0", at=" 0-7 ") == Operation("set", 0.0, "after", "0-7")
    assert (
        Operation.parse("x2", pre=True, at="5-").description()
        == "multiplied by 2, before the non-linearity, at positions 5-"
    )
    assert Operation.parse("mean", at="3").description() == "set to their means over the corpus, at positions 3"
    with pytest.raises(NeurothekError, match="give a position as 3, several as 0-7, or all from one on as 5-"):
        Operation.parse("0", at="last")


def test_interventions_are_called_what_was_asked_or_as_a_person_says() -> None:
    chosen = {"dead": ((0, 1),), "positional": ((0, 2), (1, 3))}
    made = interventions(chosen, Operation.parse("0"), name=None, of_kinds=True)
    assert [one.name for one in made] == ["dead set to 0", "positional set to 0"]
    assert [one.kind for one in made] == ["dead", "positional"]
    (mine,) = interventions({"where frequency < 0.1": ((0, 1),)}, Operation.parse("x2"), name="mine", of_kinds=False)
    assert (mine.name, mine.kind, mine.how, mine.value) == ("mine", None, "scale", 2.0)
    (long,) = interventions({"where " + "x" * 500: ((0, 1),)}, Operation.parse("0"), name=None, of_kinds=False)
    assert len(long.name) <= 120
    assert long.name.startswith("where xxx")
    (other,) = interventions({"where " + "x" * 501: ((0, 1),)}, Operation.parse("0"), name=None, of_kinds=False)
    assert other.name != long.name
    (hostile,) = interventions({"where \x1b[2J\t1": ((0, 1),)}, Operation.parse("0"), name=None, of_kinds=False)
    assert hostile.name == "where  [2J 1 set to 0"


def test_a_plan_says_what_it_does_before_it_does_it() -> None:
    made = interventions({"dead": ((0, 1), (0, 2))}, Operation.parse("0"), name=None, of_kinds=True)
    request = request_for(made, corpus_id=3, tokens=1000, n_sets=20, force=False)
    planned = InterventionPlan("opt", request, ModelSource("opt"), 3072, "builtin")
    assert planned.names == ("dead set to 0",)
    assert planned.sentences() == [
        "dead set to 0: 2 of the 3,072 neurons of opt",
        "measured on builtin, reading sequences until 1,000 ids of each domain, beside 20 random sets of as many"
        " neurons",
    ]
    assert (request.jobs, request.text.corpus_id) == (("interventions",), 3)


def test_a_plan_of_texts_says_what_they_are_compared_with() -> None:
    made = interventions({"dead": ((0, 1),)}, Operation.parse("0"), name=None, of_kinds=True, watched=(4,))
    steering = Steering(("a", "b"), length=7, scorers=("domains", "words:x"), unwanted="code", banned=("p", "q"))
    request = request_for(made, corpus_id=3, tokens=1000, n_sets=1, force=False, steering=steering)
    told = InterventionPlan("opt", request, ModelSource("opt"), 3072, "builtin").sentences()
    assert told[2:] == [
        "2 prompts continued by up to 7 tokens, the most probable, beside 1 random set of as many neurons, a filter of"
        " 2 words and self-debiasing against code",
        "scored by domains, words:x",
    ]
    assert request.jobs == ("interventions", "continuations")
    assert request.interventions[0].watched == (4,)


@pytest.mark.parametrize(("hours", "told"), [(0.01, "36 s"), (0.0, "1 s"), (0.5, "30 minutes"), (5.26, "5.3 hours")])
def test_a_plan_of_single_neurons_says_how_long_it_takes(hours: float, told: str) -> None:
    made = interventions({"dead": ((1, 1), (0, 2)), "other": ((0, 2),)}, Operation.parse("0"), name=None, of_kinds=True)
    request = request_for(made, corpus_id=3, tokens=1000, n_sets=20, force=False, alone=True)
    assert (request.jobs, request.single_neurons) == (("neuron_effects",), ((0, 2), (1, 1)))
    planned = InterventionPlan("opt", request, ModelSource("opt"), 3072, "builtin", hours=hours)
    assert planned.is_one_by_one
    assert planned.sentences() == [
        "2 of the 3,072 neurons of opt are turned off one by one",
        "measured on builtin, reading sequences until 1,000 ids of each domain, beside up to 20 random ones of each"
        " layer",
        f"about {told}",
    ]
