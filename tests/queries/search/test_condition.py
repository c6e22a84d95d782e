"""Conditions on neurons: one expression over known columns, and nothing else."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

import neurothek
from neurothek.catalog.problems import Invalid, LimitExceeded, NotFound
from neurothek.queries.ask.one_query import PartUnknown
from neurothek.queries.ask.statements import statement
from neurothek.queries.names.models import choose_corpora, choose_models
from neurothek.queries.search import by_trigger, condition
from neurothek.queries.search.by_likeness import alike
from neurothek.queries.search.by_score import scored, scorings
from neurothek.queries.search.by_trigger import triggered
from neurothek.queries.search.by_word import search
from neurothek.queries.search.chosen import neurons_where
from neurothek.queries.search.condition import (
    FUNCTIONS,
    MOST_CHARACTERS,
    PLACE,
    check_predicate,
    condition_notes,
    insert_conditions,
)
from neurothek.queries.search.poles import FoundNeurons
from neurothek.queries.search.question import Question
from neurothek.queries.views.install import view

COLUMNS = list(view("neurons").columns)

GOOD = (
    "frequency < 0.01",
    "frequency between 0.1 and 0.9 and layer in (1, 2)",
    "not is_dead or is_dead is null",
    "neurons.kurtosis > 3",
    "abs(skewness) > 1 and address like 'tiny-1m/%'",
    "list_contains(top_tokens, ' school')",
    "top_tokens[1] = ' school'",
    "len(list_filter(top_tokens, lambda t: starts_with(t, ' '))) > 3",
    "case when is_dead then false else frequency > 0.5 end",
    "true -- everything",
    "FREQUENCY > .5",
    "coalesce(frequency, 0)::varchar like '0.1%' and nullif(layer, 2) is not null",
    "address || model || 'x' <> lower(address)",
    "model = any(['tiny-1m', 'tiny-2m']) and ' school' in top_tokens",
)
GREEDY = {
    "len(repeat(address, 100000000)) > 1": "calls repeat",
    "len(range(400000000)) > 1": "calls range",
    "Format('{:>1000000000}', address) = 'a'": "calls format",
    "lpad(address, 1000000000, ' ') = 'a'": "calls lpad",
    "replace(replace(address, '', 'aaaa'), 'a', 'aaaa') = 'a'": "calls replace",
    "list_reduce(top_tokens, lambda a, b: a || a || b) = 'a'": "calls list_reduce, row",
    "len(list_transform(list_transform(top_tokens, lambda a: a || a), lambda a: a || a)) > 1": "has several lambdas",
    "len(list_filter(top_tokens, lambda a: len(list_filter(top_tokens, lambda b: b > a)) > 1)) > 1": "has several",
}

BAD = (
    "",
    "frequency <",
    "1 = 1; drop view neurons",
    "1 = 1) or (select 1",
    "layer in (select 1)",
    "exists (select 1 from store.models)",
    "select 1",
    "drop table x",
    "insert into x values (1)",
    "frequency > ?",
    "frequency > $1",
    "true order by layer",
    "pragma version",
)


def test_good(subtests: pytest.Subtests) -> None:
    for predicate in GOOD:
        with subtests.test(predicate=predicate):
            check_predicate(predicate, COLUMNS)


def test_bad(subtests: pytest.Subtests) -> None:
    for predicate in BAD:
        with subtests.test(predicate=predicate), pytest.raises(Invalid):
            check_predicate(predicate, COLUMNS)


@pytest.mark.parametrize(
    ("predicate", "nearest"),
    [("frequenzy < 1", "frequency"), ("promotions.score > 1", "score_sd"), ("layr = 1 and depth > 0", "layer")],
)
def test_unknown_columns_come_with_the_nearest(predicate: str, nearest: str) -> None:
    with pytest.raises(NotFound, match=nearest):
        check_predicate(predicate, COLUMNS)


def test_the_condition_takes_its_place() -> None:
    text = statement("search")
    assert text.count(PLACE) == 1
    assert insert_conditions(text, Question(words=()), COLUMNS) == text
    assert "(layer = 1 -- one\n)" in insert_conditions(text, Question(words=(), where="layer = 1 -- one"), COLUMNS)


def test_what_may_take_any_amount_of_memory_is_left_to_sql(subtests: pytest.Subtests) -> None:
    refused = ".*, which only the command `sql` allows"
    for predicate, what in GREEDY.items():
        with subtests.test(predicate), pytest.raises(Invalid, match=what + refused):
            check_predicate(predicate, [*COLUMNS, "a", "b"])


def test_a_comprehension_is_no_lambda() -> None:
    with pytest.raises(Invalid, match="holds a list comprehension; use list_filter with a lambda"):
        check_predicate("len([t for t in top_tokens if t > 'a']) > 3", COLUMNS)


def test_a_condition_has_an_end() -> None:
    longest = "layer" + " " * (MOST_CHARACTERS - 9) + " > 1"
    check_predicate(longest, COLUMNS)
    with pytest.raises(Invalid, match=r"condition 'layer +\.\.\.' has 1,001 characters, more than 1,000"):
        check_predicate(f"{longest}0", COLUMNS)


def test_functions_that_are_allowed_exist() -> None:
    """DuckDB knows all of them: a name that it does not know would allow what it is one day given to."""
    with duckdb.connect() as connection:
        known = {name for (name,) in connection.execute("select function_name from duckdb_functions()").fetchall()}
    # Parsed as what they stand for.
    assert FUNCTIONS - known <= {"ifnull", "nullif", "position", "isnull"}


def test_a_statement_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(PartUnknown, match="the conditions on neurons"):
        insert_conditions("from neurons", Question(words=(), where="layer = 1"), COLUMNS)


SLOW = "list_sum(range(layer, 1000000)) > 0"
"""Some seconds for the neurons of the hand-made warehouse."""


@pytest.fixture
def ranges_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condition, "FUNCTIONS", condition.FUNCTIONS | {"range"})


@pytest.mark.usefixtures("ranges_are_allowed")
def test_a_condition_without_end_is_stopped(full: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condition, "SECONDS", 0.05)
    with pytest.raises(LimitExceeded, match=r"took more than 0.05 s and was stopped; write a simpler condition"):
        search(full, Question(words=("school",), where=SLOW))
    monkeypatch.setattr(condition, "SECONDS", 30)
    plain = search(full, Question(words=("school",)))
    assert plain.n_found > 0
    # The time of the question before does not stop this one.
    assert search(full, Question(words=("school",), where="layer >= 0")).n_found == plain.n_found


@pytest.mark.usefixtures("ranges_are_allowed")
def test_one_that_ends_in_time_is_answered(full: duckdb.DuckDBPyConnection) -> None:
    slow, plain = (search(full, Question(words=("school",), where=where)) for where in (SLOW, None))
    assert slow.neurons.equals(plain.neurons)


@dataclass(frozen=True)
class Nothing:
    """Weights of which every score is 0."""

    d_ffn: int

    def scores(self, token_ids: Sequence[int], *, layers: tuple[int, int]) -> np.ndarray:
        return np.zeros((len(token_ids), layers[1] - layers[0] + 1, self.d_ffn))

    def ranks(
        self, places: Sequence[tuple[int, int, int]], *, vocabulary: Sequence[int] | np.ndarray
    ) -> list[tuple[int, int]]:
        return [(1, 1) for _ in places]


NULL_FOR_GELU = "{} is null for gelu-1m: its activation has no exact zeros; see is_negligible"


def test_a_label_that_a_model_cannot_have_is_told(
    full: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way to search and to choose says so; of models that have the label nothing is said."""
    # As if n-grams, of which the warehouse has none, had been counted on the shown corpora.
    monkeypatch.setattr(
        by_trigger, "_counted_corpora", lambda found, models: choose_corpora(found, [model.name for model in models])
    )
    token = " school"
    ways: dict[str, Callable[[Question], FoundNeurons]] = {
        "words": lambda question: search(full, replace(question, words=(token,), exact=True)),
        "triggers": lambda question: triggered(full, replace(question, triggered_by=(token,), exact=True)),
        "likeness": lambda question: alike(full, f"{question.models[0]}/L0N0", question),
        "scores": lambda question: scores_of(replace(question, words=(token,), exact=True)),
    }

    def scores_of(question: Question) -> FoundNeurons:
        asked = scorings(full, question)
        return scored(full, question, asked, {one.model.model_id: Nothing(one.model.d_ffn) for one in asked})

    of_relu = Question(words=(token,), exact=True, models=("tiny-1m",), where="is_negligible")
    assert "is_negligible is null for tiny-1m: see is_dead" in search(full, of_relu).notes
    wrong = []
    for label in ("is_dead", "IS_PROVABLY_DEAD"):
        told = NULL_FOR_GELU.format(label.lower())
        for model, expected in (("gelu-1m", [told]), ("tiny-1m", [])):
            for way, ask in ways.items():
                question = Question(words=(), models=(model,), where=f"not {label} or {label}")
                found = [note for note in ask(question).notes if "is null for" in note]
                wrong += [] if found == expected else [(way, model, found)]
        with pytest.raises(NotFound, match=re.escape(told)):
            neurons_where(full, "gelu-1m", label)
    assert wrong == []
    assert condition_notes("never_active", choose_models(full)) == condition_notes(None, choose_models(full)) == []


def test_a_frequency_of_gated_neurons_is_of_open_gates(full: duckdb.DuckDBPyConnection) -> None:
    plain, *_ = choose_models(full)
    gated = replace(plain, name="gated-1m", is_signed=True)
    expected = ["frequency is how often the gate is open in gated-1m; see effective_frequency"]
    assert condition_notes("Frequency < 0.1", [plain, gated]) == expected
    assert condition_notes("effective_frequency < 0.1", [gated]) == condition_notes("frequency < 1", [plain]) == []


def test_interventions_say_which_labels_are_null(full_path: Path) -> None:
    """In a model without such a label negligible neurons are a kind in place of the dead."""
    door = neurothek.open(full_path)
    told = NULL_FOR_GELU.format("is_dead")
    assert door.plan_intervention("gelu-1m", where="is_dead or layer = 0").sentences()[-1] == told
    plain = [*door.plan_intervention("gelu-1m", where="layer = 0").sentences()]
    plain += door.plan_intervention("tiny-1m", where="is_dead or layer = 0").sentences()
    plain += door.plan_intervention("tiny-1m", each="kind").sentences()
    assert not any("is null for" in note for note in plain)
    assert not any("none is dead" in note for note in plain)
    # Here there is no other kind: with one, the sentence stands beside it.
    with pytest.raises(NotFound, match="no neuron of gelu-1m is ever exactly 0, so none is dead: negligible ones"):
        door.plan_intervention("gelu-1m", each="kind")
