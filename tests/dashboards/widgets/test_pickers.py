"""What a person chooses on most pages: the address first, then what is usual; the usual is not remembered."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.widgets import address, pickers
from neurothek.dashboards.widgets.pickers import corpora_of, pick_corpus, pick_model, pick_models, usual_model
from neurothek.queries.names.models import KnownModel
from tests.support.known import known_model

PLAIN = ["weights-only", "tiny-1m", "gelu-1m", "tiny-2m"]


class Person:
    """Takes what each field begins with, unless told to choose otherwise."""

    def __init__(self) -> None:
        self.query_params: dict[str, str] = {}
        self.warnings: list[str] = []
        self.choice: Any = ...

    def selectbox(self, _: str, options: Sequence[str], *, index: int | None, **_more: object) -> str | None:
        chosen: str | None = None if index is None else options[index]
        return chosen if self.choice is ... else self.choice

    def multiselect(self, _: str, options: Sequence[str], *, default: Sequence[str], **_more: object) -> list[str]:
        assert {*default} <= {*options}
        return list(default) if self.choice is ... else self.choice


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Person:
    person = Person()
    shown = SimpleNamespace(
        query_params=person.query_params,
        session_state={},
        warning=person.warnings.append,
        selectbox=person.selectbox,
        multiselect=person.multiselect,
    )
    for module in (address, pickers):
        monkeypatch.setattr(module, "st", shown)
    return person


@pytest.fixture
def connection(full_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(full_path).reader() as connection:
        yield connection


def test_the_largest_plain_model_unless_the_address_names_another(
    person: Person, connection: duckdb.DuckDBPyConnection
) -> None:
    assert pick_model(connection).name == "tiny-2m"
    assert person.query_params == {"model": "tiny-2m"}
    person.query_params["model"] = "weights-only"
    assert pick_model(connection).name == "weights-only"
    person.query_params["model"] = "stranger"
    assert pick_model(connection).name == "tiny-2m"
    assert len(person.warnings) == 1


def test_the_usual_model_read_text_and_is_no_variant_where_there_is_another() -> None:
    def model(name: str, *, variant: str | None = None, has_read: bool = True) -> KnownModel:
        return known_model(name=name, variant=variant, is_measured_on_text=has_read)

    small, large, nopos = model("small"), model("large"), model("nopos", variant="no-position")
    unread = model("unread", has_read=False)
    assert usual_model([small, large, nopos, unread]) == "large"
    assert usual_model([nopos, unread]) == "nopos"
    assert usual_model([unread, replace(unread, name="larger")]) == "larger"


def test_the_plain_sizes_unless_others_are_chosen(person: Person, connection: duckdb.DuckDBPyConnection) -> None:
    assert pick_models(connection) == PLAIN
    assert person.query_params == {}
    person.choice = ["tiny-2m-nopos", "tiny-1m"]
    assert pick_models(connection) == ["tiny-1m", "tiny-2m-nopos"], "in the order of sizes"
    assert person.query_params == {"models": "tiny-1m,tiny-2m-nopos"}
    person.choice = ...
    assert pick_models(connection) == ["tiny-1m", "tiny-2m-nopos"]
    # Who takes all out is shown what is usual.
    person.choice = []
    assert pick_models(connection) == PLAIN
    assert person.query_params == {}


def test_a_corpus_is_chosen_where_there_are_several(person: Person, connection: duckdb.DuckDBPyConnection) -> None:
    assert corpora_of(connection, ["tiny-1m", "gelu-1m"]) == ["builtin", "long"]
    assert corpora_of(connection, ["weights-only"]) == []
    assert pick_corpus(connection, ["tiny-1m"]) is None
    person.query_params["corpus"] = "long"
    assert pick_corpus(connection, ["tiny-1m"]) == "long"
    assert person.query_params == {"corpus": "long"}
    # The other model has read one text alone: there is nothing to choose, and what was asked for is warned of.
    assert pick_corpus(connection, ["gelu-1m"]) is None
    assert len(person.warnings) == 1
    person.choice = None
    assert pick_corpus(connection, ["tiny-1m"]) is None
    assert person.query_params == {}
