"""Errors of a dozen kinds: a sentence for people, fields for programs, whole after a journey."""

import json
import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest

from neurothek.catalog.problems import (
    Busy,
    Conflict,
    Damaged,
    Failed,
    Invalid,
    LimitExceeded,
    MissingExtra,
    NeurothekError,
    NotFound,
    NotMeasured,
    Refused,
    Unavailable,
    Unreadable,
    Unsupported,
    memory_refused,
)

EACH: Sequence[NeurothekError] = (
    NeurothekError("it is so", "do this"),
    NotFound("there is no view x", "there are: y", what="view", name="x", known=("y",)),
    Invalid("3 is even", "give an odd one", option="--number", value=3),
    NotMeasured("nothing was measured", "measure it", jobs=["activity"], models=["m"], corpus="c"),
    Conflict("the name is taken", "choose another", what="model", name="m"),
    Unreadable("the file is no text", "give another", path=Path("a.txt"), why="a NUL"),
    Damaged("the file is damaged", "restore a copy", path=Path("a.duckdb")),
    Unavailable("the weights are elsewhere", "copy them", what="weights", name="m", why="no folder"),
    MissingExtra("Ray is not installed", "install it", what="library", name="ray"),
    Unsupported("the architecture is unknown", "choose another", what="architecture", name="T5"),
    Refused("the query is refused", "write another", what="COPY", why="it writes files"),
    LimitExceeded("it needs more memory", "allow more", what="memory", needed=2e9, limit=1e9),
    Busy("the warehouse is in use", "wait", path="a.duckdb"),
    Failed("the query failed", "mend it", what="query", why="a cast"),
)


def test_every_kind_is_here_and_has_a_name_of_its_own() -> None:
    kinds = [type(one).kind() for one in EACH]
    assert len(set(kinds)) == len(kinds)
    assert {"not_found", "limit_exceeded", "missing_extra"} <= set(kinds)


def test_it_comes_back_whole_from_another_process(subtests: pytest.Subtests) -> None:
    for error in EACH:
        with subtests.test(error=error):
            for back in (
                pickle.loads(pickle.dumps(error)),
                NeurothekError.from_dict(json.loads(json.dumps(error.to_dict()))),
            ):
                assert type(back) is type(error)
                assert str(back) == str(error) == f"{error.message}; {error.hint}"
                assert back.to_dict() == error.to_dict()


def test_a_kind_of_a_newer_process_is_still_a_sentence() -> None:
    back = NeurothekError.from_dict({"kind": "unheard_of", "message": "it is so", "hint": "", "other": 3})
    assert (type(back), str(back)) == (NeurothekError, "it is so")


def test_what_is_nearest_is_named_or_all_that_there_is() -> None:
    near = NotFound.among("view", "neurns", ["neurons", "sentences"])
    assert str(near) == "there is no view neurns; nearest: neurons"
    assert (near.what, near.name, near.known) == ("view", "neurns", ["neurons", "sentences"])
    far = NotFound.among("model", " ", ["a", "b"], where="in the warehouse", also=" (see there)")
    assert str(far) == "there is no model ' ' in the warehouse; there are: a, b (see there)"


def test_memory_that_the_system_refuses_is_said_in_one_line() -> None:
    error = memory_refused(MemoryError("no\n  more"))
    assert str(error).startswith("there is not enough memory (no more); ")
    assert (error.what, error.needed) == ("memory", None)
