"""What all scorers share: opened by their words, told apart by their identities, and never started by a stranger's."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from neurothek.catalog.problems import Invalid, NotFound
from neurothek.ingest.interventions.scorers.text_scorer import open_scorer, reopen_scorer

TEXTS = ["def f(self):\n    return 1", "What is 3 + 4?\n7", "The river is old.", ""]


@pytest.mark.parametrize("kind", ["words", "domains"])
def test_an_opened_scorer_keeps_its_promises(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "water.txt"
    path.write_text("river\nlake\n")
    spec = f"words:{path}" if kind == "words" else kind
    scorer = open_scorer(f" {spec} ")
    assert scorer.spec == spec
    assert not scorer.is_foreign
    scores = scorer.scores(TEXTS)
    assert scores.shape == (len(TEXTS), len(scorer.attributes))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert all(isinstance(scorer.words(attribute), tuple) for attribute in scorer.attributes)
    stored = json.loads(json.dumps(scorer.identity))
    path.unlink()
    again = reopen_scorer(stored)
    assert again is not None
    assert again.identity == scorer.identity
    assert again.attributes == scorer.attributes
    np.testing.assert_array_equal(again.scores(TEXTS), scores)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "there are: words"),
        ("word:bad.txt", "nearest: words"),
        ("bad.txt", "give words:FILE, domains"),
        ("toxicity", "give words:FILE"),
        ("x" * 10_000, "give words:FILE"),
        ("\x1b[2J", "give words:FILE"),
    ],
)
def test_an_unknown_kind_is_refused(spec: str, said: str) -> None:
    with pytest.raises(NotFound, match=said) as caught:
        open_scorer(spec)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("spec", ["words", "words:", "domains:x", "hf", "hf:", "command", "command:"])
def test_a_kind_without_what_it_needs_is_refused(spec: str) -> None:
    with pytest.raises(Invalid, match="; give"):
        open_scorer(spec)


def test_no_identity_starts_a_program(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\necho '{{\"a\": 0}}'\n")
    program.chmod(0o755)
    # The control: the program runs where a person asks for it.
    scorer = open_scorer(f"command:{program}")
    assert scorer.is_foreign
    mark.unlink()
    for identity in (
        scorer.identity,
        {**scorer.identity, "kind": f"command:{program}"},
        {"kind": "command", "arguments": [str(program)], "spec": f"command:{program}"},
    ):
        assert reopen_scorer(identity) is None
    assert not mark.exists()


@pytest.mark.parametrize(
    "identity",
    [
        {},
        {"kind": None},
        {"kind": ["words"]},
        {"kind": "words"},
        {"kind": "words", "attribute": "a", "words": ["b"], "version": 1, "sha256": "0"},
        {"kind": "domains"},
        {"kind": "domains", "version": 1, "text_sha256": None},
        {"kind": "hf"},
        {"kind": "hf", "source": 3, "revision": None},
        {"kind": "hf", "source": "/dev", "revision": None},
        {"kind": "hf", "source": "nobody/no-such-model", "revision": None},
        {"kind": "hf", "source": "nobody/no-such-model", "revision": "../.."},
        {"kind": "hf", "source": "a\0b", "revision": None},
        {"kind": os.sep},
    ],
    ids=str,
)
def test_an_identity_that_is_none_gives_no_scorer(identity: dict[str, object]) -> None:
    assert reopen_scorer(identity) is None
