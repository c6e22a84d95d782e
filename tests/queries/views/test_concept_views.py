"""The views of annotations against loops written from the definitions, and on sets planted to come out as they must."""

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations
from statistics import stdev
from typing import Any

import duckdb
import pytest

from neurothek.queries.ask.statements import records
from neurothek.queries.views import install
from tests.support import tiny
from tests.support import warehouse as made

Row = dict[str, Any]
Vector = tuple[str, str, int, int, tuple[int, ...]]
"""Model, condition, layer, number, tokens shown."""

Judgement = list[tuple[str, frozenset[int]]]
"""Class and tokens of each concept."""

STOPWORDS = "stopwords-punctuation"
NORMAL_975 = 1.959963984540054


def judgements(rows: Sequence[Row]) -> dict[tuple[Vector, str], Judgement]:
    """Each annotator's latest word on each vector."""
    days: dict[tuple[Vector, str], dict[datetime, Judgement]] = {}
    for row in rows:
        number = row["neuron"] if row["condition"] == "value" else row["control_id"]
        name = tiny.MODELS[row["model_id"]].name
        vector = (name, row["condition"], row["layer"], number, tuple(row["shown_token_ids"]))
        said = days.setdefault((vector, row["annotator"]), {}).setdefault(row["created_at"], [])
        if row["concept"] is not None:
            said.append((row["class"], frozenset(row["token_ids"])))
    return {key: by_day[max(by_day)] for key, by_day in days.items()}


def tied(judgement: Judgement, *, without: str | None = None) -> set[int]:
    return {token for kind, tokens in judgement for token in tokens if kind != without}


def ends(row: Row, name: str) -> tuple[Any, Any]:
    return row[f"{name}_low"], row[f"{name}_high"]


def wilson(n_with: int, n: int) -> tuple[float, float]:
    """The two shares at which the observed one is 1.96 standard errors away, found by bisection."""

    def solve(inside: float, outside: float) -> float:
        for _ in range(200):
            share = (inside + outside) / 2
            far = abs(n_with / n - share) > NORMAL_975 * (share * (1 - share) / n) ** 0.5
            inside, outside = (inside, share) if far else (share, outside)
        return inside

    return solve(n_with / n, 0.0), solve(n_with / n, 1.0)


def check_normal(row: Row, name: str, parts: Sequence[float]) -> None:
    """The interval lies around the share by 1.96 standard errors of the mean over judgements."""
    if len(parts) == 1:
        assert ends(row, name) == (None, None)
        return
    half = NORMAL_975 * stdev(parts) / len(parts) ** 0.5
    assert ends(row, name) == pytest.approx((row[name] - half, row[name] + half))


@pytest.fixture(scope="module")
def known() -> dict[tuple[Vector, str], Judgement]:
    found = judgements(made.hand_made().rows["annotations"])
    # The lot gave everything that the views tell apart.
    assert {len(one) for one in found.values()} == {0, 1, 2, 3}
    assert len(made.hand_made().rows["annotations"]) > sum(max(1, len(one)) for one in found.values())
    return found


def test_judgements_are_the_latest_words(
    full: duckdb.DuckDBPyConnection, known: dict[tuple[Vector, str], Judgement]
) -> None:
    rows = records(full, "select * from judgements")
    assert len(rows) == len(known)
    for row in rows:
        vector = (row["model"], row["condition"], row["layer"], row["number"], tuple(row["shown_token_ids"]))
        said = known[vector, row["annotator"]]
        assert (row["n_concepts"], row["has_concept"]) == (len(said), bool(said))
        assert row["n_tokens"] == len(tied(said))
        assert row["n_tokens_without_stopwords"] == len(tied(said, without=STOPWORDS))
        assert row["n_shown"] == len(vector[4])


def test_annotations_have_their_tokens_in_order(full: duckdb.DuckDBPyConnection) -> None:
    stored = {row["annotation_id"]: row for row in made.hand_made().rows["annotations"]}
    rows = records(full, "select * from annotations")
    assert {row["annotation_id"] for row in rows} == set(stored)
    for row in rows:
        expected = stored[row["annotation_id"]]
        plan = tiny.MODELS[expected["model_id"]]
        texts = [tiny.TEXTS[plan.tokenizer_id][token] for token in expected["token_ids"]]
        assert row["tokens"] == (texts or None)
        assert (row["token_ids"], row["n_tokens"]) == (expected["token_ids"], len(texts))
        is_neuron = expected["condition"] == "value"
        key = (expected["model_id"], expected["layer"], expected["neuron"])
        assert row["address"] == (tiny.address(key) if is_neuron else None)
        assert row["depth"] == (row["layer"] + 0.5) / plan.n_layers


def test_shares_of_tokens_by_loops(full: duckdb.DuckDBPyConnection, known: dict[tuple[Vector, str], Judgement]) -> None:
    rows = records(full, "select * from concept_share")
    for row in rows:
        is_wanted = {
            key: said
            for key, said in known.items()
            if key[0][:2] == (row["model"], row["condition"]) and row["annotator"] in (key[1], "all")
        }
        n_top = n_tokens = n_without = n_concepts = n_with = 0
        for (vector, _), said in is_wanted.items():
            n_top += len(vector[4])
            n_tokens += len(tied(said))
            n_without += len(tied(said, without=STOPWORDS))
            n_concepts += len(said)
            n_with += bool(said)
        n = len(is_wanted)
        assert row["n_annotators"] == len({annotator for _, annotator in is_wanted})
        assert row["n_vectors"] == len({vector for vector, _ in is_wanted})
        assert (row["n_judgements"], row["n_top_tokens"]) == (n, n_top)
        assert row["token_share"] == pytest.approx(n_tokens / n_top)
        assert row["token_share_without_stopwords"] == pytest.approx(n_without / n_top)
        assert row["with_concept_share"] == pytest.approx(n_with / n)
        assert ends(row, "with_concept_share") == pytest.approx(wilson(n_with, n))
        for name, without in (("token_share", None), ("token_share_without_stopwords", STOPWORDS)):
            parts = [len(tied(said, without=without)) / len(vector[4]) for (vector, _), said in is_wanted.items()]
            check_normal(row, name, parts)
        assert (row["n_concepts"], row["concepts_per_vector"]) == (n_concepts, pytest.approx(n_concepts / n))
    expected = {(*vector[:2], who) for vector, annotator in known for who in (annotator, "all")}
    assert {(row["model"], row["condition"], row["annotator"]) for row in rows} == expected


def test_classes_of_layers_by_loops(
    full: duckdb.DuckDBPyConnection, known: dict[tuple[Vector, str], Judgement]
) -> None:
    rows = records(full, "select * from concepts_by_layer")
    places = {(vector[:3], who) for vector, annotator in known for who in (annotator, "all")}
    assert len(rows) == 4 * len(places)
    for row in rows:
        here = [
            (key, said)
            for key, said in known.items()
            if key[0][:3] == (row["model"], row["condition"], row["layer"]) and row["annotator"] in (key[1], "all")
        ]
        of_class = [[tokens for kind, tokens in said if kind == row["class"]] for _, said in here]
        assert row["n_judgements"] == len(here)
        assert row["n_annotators"] == len({annotator for (_, annotator), _ in here})
        assert row["n_concepts"] == sum(map(len, of_class))
        assert row["concepts_per_vector"] == pytest.approx(sum(map(len, of_class)) / len(here))
        assert row["n_with_class"] == sum(map(bool, of_class))
        n_top = sum(len(vector[4]) for (vector, _), _ in here)
        tokens_of_class = [len(frozenset().union(*some)) for some in of_class]
        assert row["token_share"] == pytest.approx(sum(tokens_of_class) / n_top)
        assert ends(row, "with_class_share") == pytest.approx(wilson(sum(map(bool, of_class)), len(here)))
        parts = [n / len(vector[4]) for n, ((vector, _), _) in zip(tokens_of_class, here, strict=True)]
        check_normal(row, "token_share", parts)


def test_agreement_by_loops(full: duckdb.DuckDBPyConnection, known: dict[tuple[Vector, str], Judgement]) -> None:
    rows = records(full, "select * from annotator_agreement")
    people = sorted({annotator for _, annotator in known}, key=str.encode)
    expected: dict[tuple[str, str, str, str], list[tuple[Judgement, Judgement]]] = {}
    for one, other in combinations(people, 2):
        shared = [vector for vector, annotator in known if annotator == one and (vector, other) in known]
        for vector in shared:
            for condition in (vector[1], "all"):
                expected.setdefault((vector[0], one, other, condition), []).append(
                    (known[vector, one], known[vector, other])
                )
    assert {(row["model"], row["annotator"], row["other_annotator"], row["condition"]) for row in rows} == set(expected)
    for row in rows:
        pairs = expected[row["model"], row["annotator"], row["other_annotator"], row["condition"]]
        n = len(pairs)
        yes, other_yes = sum(bool(a) for a, _ in pairs) / n, sum(bool(b) for _, b in pairs) / n
        agreed = sum(bool(a) == bool(b) for a, b in pairs) / n
        chance = yes * other_yes + (1 - yes) * (1 - other_yes)
        overlaps = [len(tied(a) & tied(b)) / len(tied(a) | tied(b)) for a, b in pairs if a or b]
        assert (row["n_vectors"], row["n_marked"]) == (n, len(overlaps))
        assert row["agreement"] == pytest.approx(agreed)
        assert row["kappa"] == (None if chance == 1 else pytest.approx((agreed - chance) / (1 - chance)))
        assert row["mean_jaccard"] == (pytest.approx(sum(overlaps) / len(overlaps)) if overlaps else None)
        counts = [row[name] for name in ("n_both", "n_only_annotator", "n_only_other", "n_neither")]
        assert sum(counts) == n


# Planted: the paper's sample, ten vectors a layer of 30 tokens each, on the shape of its GPT-2.

N_LAYERS, PER_LAYER, N_SHOWN = 12, 10, 30

Concept = tuple[str, int, int]
"""Class, and the ranks of its tokens: from, and up to but not with."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path_factory.mktemp("planted") / "planted.duckdb")) as connection:
        made.create_schema(connection)
        install.install(connection)
        plan = tiny.ModelPlan("gpt2", N_LAYERS, 64, 1000)
        model = dict(made.hand_made().rows["models"][0]) | {
            "name": plan.name,
            "n_layers": N_LAYERS,
            "d_ffn": plan.d_ffn,
        }
        made.insert(connection, "models", [model])
        texts = [f" word{number}" for number in range(N_SHOWN)]
        token = {"tokenizer_id": 0, "is_special": False}
        tokens = [token | {"token_id": i, "piece": text, "text": text, "word": text} for i, text in enumerate(texts)]
        made.insert(connection, "tokens", tokens)
        yield connection


def plant(connection: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    connection.execute("delete from store.annotations")
    made.insert(connection, "annotations", rows)


def judgement(place: tuple[str, int, int], annotator: str, *concepts: Concept) -> list[Row]:
    """Rows of one judgement: of a condition, layer and number."""
    condition, layer, number = place
    neuron, control = (number, None) if condition == "value" else (None, number)
    row = {
        "model_id": 0,
        "layer": layer,
        "condition": condition,
        "neuron": neuron,
        "control_id": control,
        "shown_token_ids": list(range(N_SHOWN)),
        "annotator": annotator,
        "created_at": datetime(2026, 3, 1),
    }
    said: list[Row] = [
        {"concept": f"{kind} {first}", "class": kind, "token_ids": list(range(first, last))}
        for kind, first, last in concepts
    ] or [{"concept": None, "class": None, "token_ids": []}]
    return [{"annotation_id": str(uuid.uuid4())} | row | one for one in said]


def test_the_papers_sample_comes_out_as_it_was_planted(planted: duckdb.DuckDBPyConnection) -> None:
    rows = []
    for layer in range(N_LAYERS):
        for number in range(PER_LAYER):
            # Of ten: four of nothing, three of 10 tokens, two of 10 and 6 of which 2 are the same, one of stopwords.
            of_value: dict[int, list[Concept]] = {
                4: [("semantic", 0, 10)],
                5: [("semantic", 5, 15)],
                6: [("names", 0, 10)],
                7: [("semantic", 0, 10), ("syntactic", 8, 14)],
                8: [("semantic", 0, 10), ("syntactic", 8, 14)],
                9: [(STOPWORDS, 0, 8)],
            }
            rows += judgement(("value", layer, number), "anna", *of_value.get(number, []))
            rows += judgement(("random", layer, number), "anna")
            rows += judgement(("ffn_update", layer, number), "anna", ("semantic", 0, 20), (STOPWORDS, 10, 30))
    plant(planted, rows)
    shares = {row["condition"]: row for row in records(planted, "select * from concept_share where annotator = 'all'")}
    # A layer has 300 tokens: 30 + 28 are of concepts proper, 8 more of stopwords; 9 concepts in 10 vectors.
    value = shares["value"]
    assert (value["n_vectors"], value["n_top_tokens"]) == (120, 3600)
    assert (value["n_tokens"], value["n_tokens_without_stopwords"]) == (12 * 66, 12 * 58)
    assert value["token_share"] == pytest.approx(66 / 300)
    assert value["token_share_without_stopwords"] == pytest.approx(58 / 300)
    assert (value["with_concept_share"], value["concepts_per_vector"]) == pytest.approx((6 / 10, 8 / 10))
    # Nothing was planted in random vectors, and every token of the updates is of a concept, two thirds of a proper one.
    nothing = shares["random"]
    assert (nothing["n_vectors"], nothing["n_tokens"], nothing["token_share"], nothing["n_concepts"]) == (120, 0, 0, 0)
    assert shares["ffn_update"]["token_share"] == 1
    assert shares["ffn_update"]["token_share_without_stopwords"] == pytest.approx(20 / 30)
    layers = records(planted, "from concepts_by_layer where condition = 'value' and annotator = 'all'")
    per_class = {(row["class"], row["n_concepts"], row["n_tokens"]) for row in layers}
    assert per_class == {("semantic", 4, 40), ("syntactic", 2, 12), ("names", 1, 10), (STOPWORDS, 1, 8)}
    assert len(layers) == 4 * N_LAYERS
    assert {row["n_concepts"] for row in records(planted, "from concepts_by_layer where condition = 'random'")} == {0}
    assert records(planted, "from annotator_agreement") == []


def test_the_program_is_not_among_people(planted: duckdb.DuckDBPyConnection) -> None:
    rows = judgement(("value", 0, 0), "anna") + judgement(("value", 0, 1), "anna", ("semantic", 0, 15))
    rows += judgement(("value", 0, 0), "rules", ("names", 0, 30)) + judgement(
        ("value", 0, 2), "rules", ("names", 0, 30)
    )
    plant(planted, rows)
    shares = {row["annotator"]: row for row in records(planted, "from concept_share")}
    assert {who: (row["n_annotators"], row["n_vectors"], row["token_share"]) for who, row in shares.items()} == {
        "all": (1, 2, 0.25),
        "anna": (1, 2, 0.25),
        "rules": (1, 2, 1.0),
    }
    layers = records(planted, "from concepts_by_layer where class = 'names'")
    assert {row["annotator"]: row["token_share"] for row in layers} == {"all": 0.0, "anna": 0.0, "rules": 1.0}
    # It stands beside people where agreement is asked for.
    (pair,) = records(planted, "from annotator_agreement where condition = 'all'")
    assert (pair["annotator"], pair["other_annotator"], pair["n_vectors"], pair["n_only_other"]) == (
        "anna",
        "rules",
        1,
        1,
    )
    plant(planted, judgement(("value", 0, 0), "rules"))
    assert [row["annotator"] for row in records(planted, "from concept_share")] == ["rules"]


def agreement(connection: duckdb.DuckDBPyConnection, both: int, one: int, other: int, neither: int) -> Row:
    """The row of two people who judged so many vectors so."""
    yes: list[Concept] = [("semantic", 0, 10)]
    no: list[Concept] = []
    pairs = [(yes, yes)] * both + [(yes, no)] * one + [(no, yes)] * other + [(no, no)] * neither
    rows = []
    for number, (first, second) in enumerate(pairs):
        rows += judgement(("value", 0, number), "anna", *first) + judgement(("value", 0, number), "ben", *second)
    plant(connection, rows)
    (row,) = records(connection, "from annotator_agreement where condition = 'all'")
    return row


def test_kappa_where_it_is_known(planted: duckdb.DuckDBPyConnection) -> None:
    # 35 of 50 agree; the one says yes half of the time, the other three fifths: by chance half agree.
    row = agreement(planted, 20, 5, 10, 15)
    assert (row["agreement"], row["kappa"]) == (pytest.approx(0.7), pytest.approx(0.4))
    # Two who do not hang together, two who always agree, two who never do.
    assert agreement(planted, 6, 6, 6, 6)["kappa"] == 0
    assert agreement(planted, 5, 0, 0, 7)["kappa"] == 1
    assert agreement(planted, 0, 4, 4, 0)["kappa"] == -1
    # Where both always say the same there is no chance to be better than.
    assert agreement(planted, 5, 0, 0, 0)["kappa"] is None
    assert agreement(planted, 0, 0, 0, 5)["mean_jaccard"] is None


def test_overlap_where_it_is_known(planted: duckdb.DuckDBPyConnection) -> None:
    rows = judgement(("value", 0, 0), "anna", ("semantic", 0, 10)) + judgement(("value", 0, 0), "ben", ("names", 5, 15))
    rows += judgement(("value", 0, 1), "anna", ("semantic", 0, 10)) + judgement(("value", 0, 1), "ben")
    rows += judgement(("value", 0, 2), "anna") + judgement(("value", 0, 2), "ben")
    plant(planted, rows)
    (row,) = records(planted, "from annotator_agreement where condition = 'value'")
    # Five of fifteen tokens in the first, none of ten in the second, nothing to compare in the third.
    assert (row["n_marked"], row["mean_jaccard"]) == (2, pytest.approx((5 / 15 + 0) / 2))
