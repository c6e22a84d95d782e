"""Labels in one line, against clauses put together from a neuron's row, and every clause brought about."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

import neurothek
from neurothek.queries.views.labels import label_of
from tests.support import warehouse as made

Row = dict[str, Any]

pytestmark = pytest.mark.xdist_group("neuron labels")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    made.create(folder / "w.duckdb")
    return folder / "w.duckdb"


def named(tokens: list[str]) -> str:
    return " ".join(f"“{token}”" for token in tokens[:3])


def clauses(row: Row) -> list[str]:
    """The header of the view, clause by clause."""
    return [*of_firing(row), *of_traits(row), *of_writing(row)]


def of_firing(row: Row) -> list[str]:
    parts = []
    if row["is_dead"]:
        parts.append(f"never active at {row['n_tokens_seen']} tokens")
    elif row["is_negligible"]:
        parts.append(f"negligible: at most {round(100 * row['contribution_max'], 2)}% of its FFN's output")
    tokens = row["detected_tokens"] if row["is_token_detector"] else row["trigger_tokens"]
    if tokens:
        doing = "suppresses" if row["suppresses_triggers"] else "promotes"
        first = f"detects {named(tokens)} and {doing} them" if row["is_token_detector"] else f"often at {named(tokens)}"
        share = row["trigger_share"]
        parts.append(first + ("" if share is None else f" (five tokens hold {round(100 * share, 1)}%)"))
    return parts


def of_traits(row: Row) -> list[str]:
    parts = []
    if row["position_strength"] in ("strong", "weak"):
        nats = round(row["mutual_information_corrected"], 2)
        parts.append(f"depends on position: {row['position_kind']}, {row['position_strength']} ({nats} nats)")
    if row["selective_domain"] is not None and row["domain_entropy"] <= 0.5:
        parts.append(f"for {row['selective_domain']} (entropy over domains {round(row['domain_entropy'], 2)})")
    if row["is_entropy_neuron"]:
        parts.append(f"moves no logit with {round(100 * row['null_share'], 1)}% of what it writes")
    if row["is_frequency_neuron"]:
        sign = -1 if row["pole"] == "negative" else 1
        parts.append(f"follows token counts (correlation {round(sign * row['count_correlation'], 2)})")
    if row["has_super_weight"] and row["massive_ratio"] is not None:
        parts.append(f"has a super weight (coefficient {row['massive_ratio']:.0f} times its layer's mean)")
    if row["read_tokens"]:
        z = row["read_z"]
        parts.append(f"reads {named(row['read_tokens'])}" + ("" if z is None else f" (z {round(z, 1)})"))
    return parts


def of_writing(row: Row) -> list[str]:
    parts = []
    written = row["bottom_tokens"] if row["pole"] == "negative" else row["top_tokens"]
    if written:
        numbers = [] if row["promoted_z"] is None else [f"z {round(row['promoted_z'], 1)}"]
        if row["coherence_percentile"] is not None:
            numbers.append(f"more coherent than {round(row['coherence_percentile'], 1)}% of random vectors")
        score, others, n_contexts = row["input_score"], row["input_other_score"], row["n_strongest_contexts"]
        if score is not None and others is not None and n_contexts is not None and score > others:
            numbers.append(f"at {score * n_contexts:.0f} of its {n_contexts} strongest contexts")
        parts.append(f"promotes {named(written)}" + (f" ({', '.join(numbers)})" if numbers else ""))
    if row["effective_frequency"] is not None:
        share = row["effective_frequency"]
        parts.append(
            "effective frequency under 0.01%" if share < 0.0001 else f"effective frequency {round(100 * share, 2)}%"
        )
    if row["cluster_size"] is not None and row["cluster_size"] > 1:
        parts.append(f"in cluster {row['cluster_id']} ({row['cluster_size']} neurons)")
    return parts


def labels(connection: duckdb.DuckDBPyConnection) -> dict[str, str | None]:
    return dict(connection.execute("select address, label from neuron_labels").fetchall())


def compare(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """All clauses that were met; every label is as put together."""
    found, met = labels(connection), []
    rows = connection.sql("from neurons").pl().to_dicts()
    assert found.keys() == {row["address"] for row in rows}
    for row in rows:
        parts = clauses(row)
        assert found[row["address"]] == ("; ".join(parts) or None)
        # What pages and searches say is made without the view.
        assert label_of(row) == found[row["address"]]
        met += parts
    return met


WAYS = {
    "negligible": "contribution_max = 0.0012",
    "is_entropy": "is_entropy_neuron = true, null_share = 0.8767",
    "frequency": "is_frequency_neuron = true, count_correlation = -0.347",
    "domain": "selective_domain = 'code', domain_entropy = 0.5",
    "even domain": "selective_domain = 'prose', domain_entropy = 0.51",
    "reads": "read_tokens = [' a', 'b']",
    "reads by": "read_tokens = ['a'], read_z = 6.34",
    "super weight": "massive_ratio = 1882.87, has_super_weight = true",
    "writes": "top_tokens = ['a', ' b'], promoted_z = 8.26, coherence_percentile = null, input_score = 0.6,"
    " input_other_score = 0.01, n_strongest_contexts = 5",
    "writes all of it": "top_tokens = ['a'], promoted_z = 8.26, coherence_percentile = 97.26, input_score = 0.1,"
    " input_other_score = 0.1",
    "writes only": "top_tokens = ['a'], promoted_z = null, coherence_percentile = null, input_score = null",
    "triggers": "trigger_tokens = ['x', ' y', 'z'], trigger_share = 0.123",
    "detects": "unigram_active = 200, unigrams_95 = 2, detected_active = 199, detected_tokens = ['s', 't'],"
    " detected_score = -1, trigger_share = 0.995",
    "rare": "effective_frequency = 0.00009",
}
EXPECTED = {
    "negligible": "negligible: at most 0.12% of its FFN's output",
    "is_entropy": "moves no logit with 87.7% of what it writes",
    "frequency": "follows token counts (correlation -0.35)",
    "domain": "for code (entropy over domains 0.5)",
    "reads": "reads “ a” “b”",
    "reads by": "reads “a” (z 6.3)",
    "super weight": "has a super weight (coefficient 1883 times its layer's mean)",
    "writes": "promotes “a” “ b” (z 8.3, at 3 of its 5 strongest contexts)",
    "writes all of it": "promotes “a” (z 8.3, more coherent than 97.3% of random vectors)",
    "writes only": "promotes “a”",
    "triggers": "often at “x” “ y” “z” (five tokens hold 12.3%)",
    "detects": "detects “s” “t” and suppresses them (five tokens hold 99.5%)",
    "rare": "effective frequency under 0.01%",
}


def test_labels_are_put_together_from_the_row(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        met = compare(connection)
    kinds = ("never active at", "promotes", "depends on position", "effective frequency", "in cluster")
    for kind in kinds:
        assert any(part.startswith(kind) for part in met), kind


@pytest.mark.parametrize("way", WAYS)
def test_every_clause_stands_where_it_is_true(way: str, path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("begin")
        connection.execute(f"update store.neuron_facts set {WAYS[way]}")
        met = compare(connection)
        connection.execute("rollback")
    if way in EXPECTED:
        assert EXPECTED[way] in met
    else:
        assert not any(part.startswith("for ") for part in met)


def test_answers_have_the_labels_of_their_neurons(path: Path) -> None:
    door = neurothek.open(path)
    with door.reader() as connection:
        expected = labels(connection)
        word, model = connection.execute("select word, model from promotions limit 1").fetchall()[0]
        (address,) = connection.execute("select address from neurons where model = ? limit 1", [model]).fetchall()[0]
    answers = [door.search(word, limit=5), door.search(like=address, limit=5)]
    for answer in answers:
        assert answer.neurons.height
        for row in answer.neurons.to_dicts():
            assert row["label"] == expected[row["address"]]
        assert answer.labelled().columns == [*answer.table().columns, "label"]
    page = door.neuron(address)
    assert page.label == expected[address] == page.data()["neuron"]["label"]


def test_what_was_not_measured_is_not_said(path: Path) -> None:
    """Nor is a clause whose number is missing, as in a file that somebody else made."""
    holes = "domain_entropy = null, selective_domain = 'code', null_share = null, is_entropy_neuron = true"
    holes += ", cluster_id = null, coherence_percentile = null, is_frequency_neuron = true, count_correlation = null"
    holes += (
        ", has_super_weight = true, massive_ratio = null, promoted_z = null, read_z = null, input_other_score = null"
    )
    with duckdb.connect(str(path)) as connection:
        connection.execute("begin")
        connection.execute(f"update store.neuron_facts set {holes}, trigger_share = null, trigger_tokens = ['a']")
        found = labels(connection)
        for row in connection.sql("from neurons").pl().to_dicts():
            label = found[row["address"]]
            assert label_of(row) == label
            assert label is not None
            unsaid = ("None", "null", "for code", "moves no", "follows", "cluster", "super", "(z", "at 0")
            assert not any(word in label for word in unsaid)
            assert "often at “a”" in label or row["is_token_detector"]
        connection.execute("rollback")
