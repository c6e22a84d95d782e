"""The job exits end to end on tiny models, against plain loops over the rows that it works on."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import neurothek
from neurothek.catalog.problems import Conflict, NotMeasured
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.checks import check
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.jobs.exits import rules
from neurothek.ingest.jobs.exits.rules import FINE_LAMBDAS, LAMBDAS, SEEDS, Split
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.request import IngestRequest, ModelSource
from tests.support import exits as plain
from tests.support import ingests
from tests.support.models import build

# One worker measures, once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("exits")]

SENTENCES = (
    "The school is near the river. The old school has a new roof! Is it near? One two three four five six seven.",
    "What is 12 + 30? It is 42. School begins on monday. SCHOOL ends on friday, and again one two three.",
    "And the river is near the old roof. A new school has a river. Ten nine eight seven six five four.",
)
N_LAYERS = 4
EXITS = ("exits",)

Row = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """A model whose exits were measured, and the rows that they are of."""

    folder: Path
    warehouse: Warehouse

    def rows(self, query: str) -> list[Row]:
        with self.warehouse.reader() as connection:
            rows: list[Row] = connection.sql(query).pl().to_dicts()
        return rows

    def exits(self, method: str) -> list[Row]:
        return self.rows(f"select * from store.exits where method = '{method}' order by parameter, seed")


def write_text(folder: Path, n: int = 14) -> str:
    folder.mkdir()
    for number in range(n):
        chosen = " ".join(SENTENCES[(number + turn) % 3] for turn in range(1 + number % 3))
        (folder / f"{number:02d}.txt").write_text(chosen)
    return f"prose={folder}"


def request(corpus: str, *jobs: str, **fields: Any) -> IngestRequest:
    return ingests.request((corpus,), jobs=jobs, **{"clusters": (12, 40), "examples": 60, **fields})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_text(tmp_path_factory.mktemp("text") / "prose")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, corpus: str) -> Measured:
    folder = build(tmp_path_factory.mktemp("exits") / "tiny", "opt", n_layers=N_LAYERS, d_model=16, d_ffn=24)
    warehouse = ingests.open_warehouse(folder.parent / "w.duckdb")
    report = ingests.measure(warehouse, folder, request(corpus, *EXITS))
    assert report.jobs == ("clusters", "events", "shortcuts", "exits")
    return Measured(folder, warehouse)


def examples(of: Measured) -> list[Row]:
    return of.rows("select * from store.examples order by example_id")


def correct(of: Measured) -> dict[tuple[int, int], bool]:
    """(layer, example) -> whether the final token is at the top after the layer."""
    final = {row["example_id"]: row["final_token"] for row in examples(of)}
    return {
        (row["layer"], row["example_id"]): row["top_token"] == final[row["example_id"]]
        for row in of.rows("select * from store.streams where moment = 'post'")
    }


def summed_up(run: list[int], right: list[bool]) -> Row:
    saved = [N_LAYERS - one for one in run]
    of_right = [one for one, good in zip(saved, right, strict=True) if good]
    return {
        "n": len(run),
        "n_correct": sum(right),
        "n_exited": sum(one > 0 for one in saved),
        "accuracy": sum(right) / len(run),
        "layers_run": sum(run) / len(run),
        "layers_saved": sum(saved) / len(run),
        "layers_saved_correct": sum(of_right) / len(of_right) if of_right else None,
    }


def assert_row(row: Row, expected: Row) -> None:
    for name, value in expected.items():
        assert row[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name


@pytest.mark.parametrize("method", ["cluster_ranks", "cluster_sets"])
def test_rows_of_the_rule_are_plain_loops_over_the_tables(measured: Measured, method: str) -> None:
    rows, right = examples(measured), correct(measured)
    # Of the two clusterings the one into fewer.
    clusters = {
        (row["layer"], row["neuron"]): row["cluster_id"]
        for row in measured.rows(
            "select clusters.* from store.clusters as clusters inner join store.clusterings as clusterings"
            " using (clustering_id) where clusterings.n_clusters_asked = 12"
        )
    }
    lists = [[[-1] * 10 for _ in rows] for _ in range(N_LAYERS)]
    for row in measured.rows("select * from store.sub_updates where kind = 'dominant'"):
        lists[row["layer"]][row["example_id"]][row["rank"] - 1] = clusters[row["layer"], row["neuron"]]
    saturation = [row["saturation_layer"] for row in rows]
    found = measured.exits(method)
    assert [(row["seed"], row["parameter"]) for row in found] == [(seed, 12.0) for seed in SEEDS]
    for row in found:
        split = Split.of(len(rows), seed=row["seed"])
        layers = [
            plain.exit_layer(example, lists, saturation, split.train.tolist(), sets=method == "cluster_sets")
            for example in split.test.tolist()
        ]
        good = [right[layer, example] for layer, example in zip(layers, split.test.tolist(), strict=True)]
        assert_row(row, summed_up([layer + 1 for layer in layers], good))


@pytest.mark.parametrize("method", ["mat", "id"])
def test_rows_of_shortcuts_are_plain_loops_over_the_readings(measured: Measured, method: str) -> None:
    sentences = measured.rows("select * from store.shortcut_sentences where is_validation order by sentence_id")
    readings = {
        (row["sentence_id"], row["state"]): row
        for row in measured.rows(f"select * from store.shortcut_readings where method = '{method}'")
    }
    mean_length = sum(row["own_position"] + 1 for row in sentences) / len(sentences)

    def at(states: list[int]) -> Row:
        numbers = [row["sentence_id"] for row in sentences]
        good = [readings[one, state]["rank_in_model"] == 1 for one, state in zip(numbers, states, strict=True)]
        return summed_up(states, good)

    by_confidence = measured.exits(method)
    assert [row["parameter"] for row in by_confidence] == list(LAMBDAS if method == "mat" else FINE_LAMBDAS)
    for row in by_confidence:
        states = []
        for sentence in sentences:
            own = [readings[sentence["sentence_id"], state] for state in range(N_LAYERS + 1)]
            margins = [one["top_probability"] - one["second_probability"] for one in own]
            states.append(plain.exit_state(margins, sentence["own_position"], mean_length, row["parameter"]))
        assert_row(row, at(states))
    fixed = measured.exits(f"fixed_{method}")
    assert [row["parameter"] for row in fixed] == list(range(N_LAYERS + 1))
    for row in fixed:
        assert_row(row, at([int(row["parameter"])] * len(sentences)))
    predictions = measured.rows(f"select * from store.shortcut_predictions where method = '{method}' order by state")
    assert [row["accuracy"] for row in fixed] == [row["precision_1"] for row in predictions]
    assert (by_confidence[0]["layers_run"], by_confidence[-1]["layers_run"]) == (1, N_LAYERS)
    assert by_confidence[-1]["accuracy"] == fixed[-1]["accuracy"] == 1


def test_classifiers_have_a_row_a_seed(measured: Measured) -> None:
    for method in ("logistic_stream", "logistic_ffn", "logistic_sum"):
        rows = measured.exits(method)
        assert [row["seed"] for row in rows] == list(SEEDS)
        assert {row["n"] for row in rows} == {len(examples(measured)) // 10}


def test_what_was_measured_breaks_no_law(measured: Measured) -> None:
    assert check(measured.warehouse) == []


def copied(measured: Measured, folder: Path) -> Warehouse:
    path = folder / "w.duckdb"
    path.write_bytes(measured.warehouse.path.read_bytes())
    maps = measured.warehouse.maps
    if maps.exists():
        shutil.copytree(maps, path.with_name(maps.name))
    return ingests.open_warehouse(path)


def test_again_there_is_nothing_to_do(measured: Measured, corpus: str, tmp_path: Path) -> None:
    warehouse = copied(measured, tmp_path)
    report = ingests.measure(warehouse, measured.folder, request(corpus, *EXITS))
    assert (report.jobs, report.up_to_date) == ((), ("exits",))


def test_other_events_are_other_exits_and_need_no_force(measured: Measured, corpus: str, tmp_path: Path) -> None:
    warehouse = copied(measured, tmp_path)
    fewer = ingests.request((corpus,), jobs=("events",), examples=30, force=True)
    ingests.measure(warehouse, measured.folder, fewer)
    report = ingests.measure(warehouse, measured.folder, request(corpus, *EXITS))
    assert report.jobs == EXITS
    rows = ingests.table(warehouse, "exits", "method = 'cluster_ranks'")
    assert set(rows["n"]) == {3}
    with pytest.raises(Conflict, match="baselines"):
        ingests.measure(warehouse, measured.folder, request(corpus, *EXITS, baselines=False))


def test_without_baselines_no_classifier_is_fitted(measured: Measured, corpus: str, tmp_path: Path) -> None:
    warehouse = copied(measured, tmp_path)
    ingests.measure(warehouse, measured.folder, request(corpus, *EXITS, baselines=False, force=True))
    methods = set(ingests.table(warehouse, "exits")["method"])
    assert methods == {"cluster_ranks", "cluster_sets", "mat", "id", "fixed_mat", "fixed_id"}


def test_it_says_what_is_measured_first(corpus: str, tmp_path: Path) -> None:
    model = build(tmp_path / "tiny", "opt", d_model=16, d_ffn=24)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, model, request(corpus, "events"))
    told: list[str] = []
    ingest_model(warehouse, request(corpus, *EXITS), ModelSource.parse(str(model)), announce=told.append)
    assert told == ["tiny: exits needs the results of clusters, shortcuts, so these are measured first"]


def test_a_model_of_one_layer_saves_nothing(corpus: str, tmp_path: Path) -> None:
    model = build(tmp_path / "flat", "opt", n_layers=1, d_model=16, d_ffn=24)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, model, request(corpus, *EXITS, clusters=(12,)))
    rows = ingests.table(warehouse, "exits", "parameter <> 0 or method not like 'fixed%'")
    assert set(rows["layers_saved"]) == {0.0}
    assert set(rows["accuracy"]) == {1.0}
    assert check(warehouse) == []


def test_too_few_examples_are_one_sentence(
    measured: Measured, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = copied(measured, tmp_path)
    few = ingests.request((corpus,), jobs=("events",), examples=rules.LEAST_EXAMPLES - 1, force=True)
    ingests.measure(warehouse, measured.folder, few)
    said = "needs at least 10, but the events on the corpus prose have 9; choose another --corpus"
    with pytest.raises(NotMeasured, match=said):
        ingests.measure(warehouse, measured.folder, request(corpus, *EXITS))


def test_measuring_again_gives_the_same_bits(measured: Measured) -> None:
    found = neurothek.open(measured.warehouse.path).verify("tiny", sample=99)
    agreements = {part.table: part for part in found if isinstance(part, Agreement)}
    exits = agreements["exits"]
    assert exits.n_rows == exits.n_equal == len(measured.rows("select * from store.exits"))
