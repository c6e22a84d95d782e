"""What was not measured on a corpus, and the command that measures it there, which a shell takes as it stands."""

import json
import shlex
from collections.abc import Iterator

import duckdb
import pytest

from neurothek.catalog.problems import NotFound
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.names.models import shown_corpora
from neurothek.queries.names.unmeasured import (
    OF_COMPARISON,
    OF_NEURON,
    Unmeasured,
    corpus_words,
    ingest_commands,
    ingest_words,
    unmeasured,
)
from neurothek.queries.views.on_corpus import on_corpus
from tests.support.tiny import CORPORA, LENGTH
from tests.support.warehouse import create


def lacking(
    connection: duckdb.DuckDBPyConnection, models: list[str], corpus: str, jobs: tuple[str, ...] = OF_COMPARISON
) -> list[Unmeasured]:
    with on_corpus(connection, models, corpus) as shown:
        return unmeasured(shown, models, corpus, jobs)


def test_jobs_that_ran_nowhere_are_told_with_one_command(full: duckdb.DuckDBPyConnection) -> None:
    (one,) = lacking(full, ["tiny-1m", "tiny-2m"], "builtin")
    assert one.models == ("tiny-1m", "tiny-2m")
    assert one.jobs == ("ngrams", "events", "shortcuts", "exits")
    words = shlex.split(one.command)
    assert words[:4] == ["neurothek", "ingest", "tiny-1m", "tiny-2m"]
    assert [words[place + 1] for place, word in enumerate(words) if word == "--job"] == list(one.jobs)
    assert words[-4:] == ["--corpus", "builtin", "--sequence-length", str(LENGTH)]


def test_what_ran_on_another_corpus_only_is_lacking_here(full: duckdb.DuckDBPyConnection) -> None:
    """tiny-2m-nopos read one of the two texts."""
    found = lacking(full, ["tiny-1m", "tiny-2m-nopos"], "long", ("activity", "positions"))
    assert [(one.models, one.jobs) for one in found] == [(("tiny-2m-nopos",), ("activity", "positions"))]
    assert lacking(full, ["tiny-1m", "tiny-2m"], "long", ("activity", "positions", "contexts")) == []


def test_a_model_that_read_no_text_lacks_nothing(full: duckdb.DuckDBPyConnection) -> None:
    assert lacking(full, ["weights-only", "tiny-1m"], "builtin", ("activity",)) == []


def test_models_that_lack_the_same_are_told_together(full: duckdb.DuckDBPyConnection) -> None:
    found = lacking(full, ["tiny-1m", "tiny-2m-nopos", "tiny-2m"], "long", OF_NEURON)
    assert [(one.models, one.jobs) for one in found] == [
        (("tiny-1m", "tiny-2m"), ("ngrams", "events")),
        (("tiny-2m-nopos",), OF_NEURON),
    ]


def test_the_sentence_says_what_where_and_how() -> None:
    said = str(Unmeasured("my text ", ("activity", "events"), ("a", " b"), "neurothek ingest a"))
    assert "activity, events of a, ' b'" in said
    assert "'my text '" in said
    assert said.endswith("`neurothek ingest a`")


RECIPES: list[tuple[dict[str, object], str, list[str]]] = [
    ({"tokens_per_domain": 500}, "builtin", ["--tokens", "500", "--sequence-length", "64"]),
    ({"tokens_per_domain": 500}, "other text", ["--sequence-length", "64"]),
    ({"tokens_per_domain": None}, "builtin", ["--sequence-length", "64"]),
    ({}, "builtin", ["--sequence-length", "64"]),
    ({"tokens_per_domain": 500, "packing": True}, "builtin", ["--tokens", "500", "--sequence-length", "64"]),
    ({"packing": False}, "builtin", ["--sequence-length", "64", "--no-packing"]),
    ({"packing": False}, "other text", ["--sequence-length", "64"]),
]


def test_a_command_asks_for_the_text_as_it_was_read(subtests: pytest.Subtests) -> None:
    for recipe, name, words in RECIPES:
        with subtests.test(recipe=recipe, name=name, words=words):
            corpus = {"name": name, "sequence_length": 64, "recipe": json.dumps(recipe)}
            command = ingest_words(["a b", "c"], ["events"], corpus)
            assert shlex.split(command) == [
                "neurothek",
                "ingest",
                "a b",
                "c",
                "--job",
                "events",
                "--corpus",
                name,
                *words,
            ]


def test_options_name_a_corpus_of_the_warehouse(full: duckdb.DuckDBPyConnection) -> None:
    assert corpus_words(full, ["tiny-1m"], None) == []
    for name in {corpus[0] for corpus in CORPORA}:
        assert corpus_words(full, ["tiny-1m"], name) == ["--corpus", name, "--sequence-length", str(LENGTH)]
    with pytest.raises(NotFound):
        corpus_words(full, ["gelu-1m"], "long")


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """What builtin is was limited to so many tokens a domain."""
    path = tmp_path_factory.mktemp("limited") / "limited.duckdb"
    create(path)
    with duckdb.connect(str(path)) as connection:
        said = json.dumps({"tokens_per_domain": 40_000, "packing": True})
        connection.execute("update store.corpora set recipe = ? where name = 'builtin'", [said])
    with Warehouse(path).reader() as reader:
        yield reader


SHOWN = ["--corpus", "builtin", "--tokens", "40000", "--sequence-length", str(LENGTH)]


def test_jobs_that_read_text_are_asked_for_on_the_shown_corpus(limited: duckdb.DuckDBPyConnection) -> None:
    (model,) = [name for name, one in shown_corpora(limited, ["tiny-2m-nopos"]).items() if one.corpus == "builtin"]
    (command,) = ingest_commands(limited, [model], ["events", "exits"])
    assert shlex.split(command) == ["neurothek", "ingest", model, "--job", "events", "--job", "exits", *SHOWN]
    # One that read no text is measured on that of the model beside it, but alone on what is read by itself.
    (command,) = ingest_commands(limited, ["weights-only", model], ["activity"])
    assert shlex.split(command) == ["neurothek", "ingest", "weights-only", model, "--job", "activity", *SHOWN]
    assert ingest_commands(limited, ["weights-only"], ["activity"]) == ["neurothek ingest weights-only --job activity"]


def test_jobs_that_read_no_text_are_asked_for_without(limited: duckdb.DuckDBPyConnection) -> None:
    asked = ingest_commands(limited, ["tiny-2m-nopos"], ["projections", "clusters"])
    assert asked == ["neurothek ingest tiny-2m-nopos --job projections --job clusters"]


def test_models_of_other_texts_have_commands_of_their_own(limited: duckdb.DuckDBPyConnection) -> None:
    names = ["tiny-1m", "tiny-2m-nopos", "tiny-2m", "gelu-1m"]
    commands = [shlex.split(command) for command in ingest_commands(limited, names, ["exits"])]
    shown = {name: one.corpus for name, one in shown_corpora(limited, names).items()}
    assert len(commands) == len(set(shown.values())) > 1
    for words in commands:
        corpus = words[words.index("--corpus") + 1]
        assert words[2 : words.index("--job")] == [name for name in names if shown[name] == corpus]
        assert ("--tokens" in words) == (corpus == "builtin")
    # On a text that is asked for there is one.
    (command,) = ingest_commands(limited, names, ["exits"], "builtin")
    assert shlex.split(command) == ["neurothek", "ingest", *names, "--job", "exits", *SHOWN]
    with pytest.raises(NotFound):
        ingest_commands(limited, ["gelu-1m"], ["exits"], "long")
