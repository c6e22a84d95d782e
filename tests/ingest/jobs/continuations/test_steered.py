"""What is asked for survives the way into a run's parameters and back."""

import json

from neurothek.ingest.interventions.continued import Writing
from neurothek.ingest.jobs.continuations.job import Steered
from neurothek.ingest.request import Intervention, Steering

STEERING = Steering(
    ("one", "two"),
    length=7,
    temperature=0.5,
    seed=3,
    scorers=("words:a.txt",),
    unwanted="a",
    banned=("x", "y"),
    described="bad words",
)
ASKED = Intervention("mine", ((0, 1), (0, 2), (1, 5)), "named", "set", 3.0, "before", None, (4, 9), "0-3")
SCORERS = ({"name": "words:a.txt", "words": ["x", "y"]},)


def test_parameters_say_all_but_the_prompts() -> None:
    one = Steered.of(ASKED, STEERING, SCORERS, n_positions=40)
    said = json.loads(json.dumps(one.as_parameters()))
    again = Steered.from_parameters("mine", said)
    assert again.as_parameters() == one.as_parameters()
    assert (again.intervention, again.writing) == (ASKED, Writing(7, 0.5, 3))
    assert again.steering.prompts == ()
    assert (again.n_prompts, again.n_positions, again.prompts_sha256) == (2, 40, one.prompts_sha256)
    assert "one" not in json.dumps(said)


def test_other_prompts_are_other_parameters() -> None:
    texts = [("one", "two"), ("two", "one"), ("onetwo",), ("one", "two", "")]
    found = {
        Steered.of(ASKED, Steering(prompts, scorers=("words:a.txt",)), SCORERS, n_positions=40).prompts_sha256
        for prompts in texts
    }
    assert len(found) == len(texts)
