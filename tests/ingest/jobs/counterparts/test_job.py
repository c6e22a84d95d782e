"""The job `counterparts` on small models: rows against loops, planted twins, shuffled vectors, what may go wrong."""

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
import torch
from click.testing import CliRunner

import neurothek
from neurothek.catalog.problems import Conflict, Invalid, LimitExceeded, NotFound, NotMeasured, Unavailable
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import BY_NAME
from neurothek.catalog.upkeep.changes import remove
from neurothek.catalog.upkeep.checks import check
from neurothek.ingest.jobs.counterparts import job
from neurothek.ingest.jobs.counterparts.job import CounterpartsJob, null_99
from neurothek.ingest.jobs.pair_job import PairContext
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.models.listed import ListedModel
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.pipeline.ingest_all import Outcome, report_lines
from neurothek.ingest.pipeline.outcomes import PairReport
from neurothek.ingest.planning import pair_plan
from neurothek.ingest.request import IngestRequest
from neurothek.queries.search.by_likeness import alike
from neurothek.queries.search.question import Question
from tests.support import ingests, models, overlaps
from tests.support.overlaps import Lists

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("counterparts")]

K, N_RANDOM = 50, 500
EMBEDDING = "model.decoder.embed_tokens.weight"
LISTED = ("projections",)


def values_of(layer: int) -> str:
    return f"model.decoder.layers.{layer}.fc2.weight"


def numbers_in(report: PairReport) -> list[int]:
    """Those above chance and all neurons, of either model, then the mutual pairs, and those above chance."""
    (sentence,) = report.findings
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", sentence)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models of one tokenizer, the second with three neurons of the first; and one of another tokenizer."""
    folder = tmp_path_factory.mktemp("counterparts")
    small = models.build(folder / "small", "opt", d_ffn=12, n_layers=2, d_model=16, seed=1)
    kept: dict[str, torch.Tensor] = {}
    models.edit_tensors(small, kept.update)

    def plant(tensors: dict[str, torch.Tensor]) -> None:
        # A value vector says the same of the same embedding, however long it is.
        tensors[EMBEDDING].copy_(kept[EMBEDDING])
        tensors[values_of(2)][:, 5] = kept[values_of(0)][:, 3]
        tensors[values_of(0)][:, 13] = 7 * kept[values_of(1)][:, 11]
        tensors[values_of(1)][:, 0] = kept[values_of(1)][:, 0]

    large = models.build(folder / "large", "opt", d_ffn=14, n_layers=3, d_model=16, seed=2)
    models.edit_tensors(large, plant)
    models.build(folder / "third", "opt", d_ffn=10, n_layers=1, d_model=16, seed=3)
    models.build(folder / "gpt", "gpt2", d_ffn=10, d_model=16)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for name in ("small", "large", "third", "gpt"):
        ingests.measure(warehouse, folder / name, ingests.request((), jobs=LISTED))
    return folder


@pytest.fixture(scope="module")
def compared(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    path = tmp_path_factory.mktemp("compared") / "w.duckdb"
    shutil.copy(folder / "w.duckdb", path)
    warehouse = ingests.open_warehouse(path)
    ingests.compare(warehouse, "small", "large")
    return warehouse


@pytest.fixture
def warehouse(folder: Path, tmp_path: Path) -> Warehouse:
    shutil.copy(folder / "w.duckdb", tmp_path / "w.duckdb")
    return ingests.open_warehouse(tmp_path / "w.duckdb")


def lists_of(warehouse: Warehouse, model_id: int) -> dict[tuple[int, int], Lists]:
    rows = ingests.table(warehouse, "projections", f"set_id = {model_id}")
    return {
        (row["layer"], row["neuron"]): (row["top_token_ids"], row["bottom_token_ids"])
        for row in rows.iter_rows(named=True)
    }


def random_lists(folder: Path, layer: int) -> Sequence[Lists]:
    """What random vectors like a layer's say, by sorting every score."""
    transformer, tokenizer = open_transformer(find(str(folder))), load(folder)
    vectors = random_vectors(transformer.value_vectors(layer), n=N_RANDOM, seed=0, layer=layer)
    scores = (transformer.unembedding()[tokenizer.ids].double() @ vectors.double().T).numpy()
    return [
        (np.argsort(-column, kind="stable")[:K].tolist(), np.argsort(column, kind="stable")[:K].tolist())
        for column in scores.T
    ]


def rows(warehouse: Warehouse, model_id: int, other_id: int) -> dict[tuple[int, int, int], dict[str, Any]]:
    found = ingests.table(warehouse, "counterparts", f"set_id = {model_id} and other_set_id = {other_id}")
    return {(row["layer"], row["neuron"], row["rank"]): row for row in found.iter_rows(named=True)}


@pytest.mark.parametrize(("model_id", "other_id", "name"), [(0, 1, "small"), (1, 0, "large")])
def test_rows_equal_a_loop_over_all_pairs(
    compared: Warehouse, folder: Path, model_id: int, other_id: int, name: str
) -> None:
    one, other = lists_of(compared, model_id), lists_of(compared, other_id)
    found, expected = rows(compared, model_id, other_id), overlaps.counterparts(one, other)
    assert found.keys() == expected.keys()
    for place, row in expected.items():
        same = {column: found[place][column] for column in row}
        # Weights on a grid of 2^-46 move an overlap of a hundred tokens by less than this.
        assert same == row | {"overlap": pytest.approx(row["overlap"], abs=1e-12)}
    layer = max(layer for layer, _ in one)
    (null,) = {row["null_99"] for place, row in found.items() if place[0] == layer}
    assert null == pytest.approx(overlaps.null_99(random_lists(folder / name, layer), other), abs=1e-12)


def test_overlaps_are_those_of_a_search(compared: Warehouse) -> None:
    with compared.current_reader() as connection:
        for neuron in range(0, 12, 3):
            address = f"small/L1N{neuron}"
            searched = alike(connection, address, Question(words=(), models=("large",), limit=5)).neurons
            query = f"select other_address, overlap from counterparts where address = '{address}' order by rank"
            kept = connection.sql(query).pl()
            assert kept["overlap"].to_list() == pytest.approx(searched["overlap"].to_list(), abs=1e-12)
            assert kept["other_address"].to_list() == searched["address"].to_list()


def test_planted_twins_are_found_from_either_side(compared: Warehouse) -> None:
    for one, other in (((0, 3), (2, 5)), ((1, 11), (0, 13)), ((1, 0), (1, 0))):
        for model_id, mine, theirs in ((0, one, other), (1, other, one)):
            row = rows(compared, model_id, 1 - model_id)[*mine, 1]
            assert (row["other_layer"], row["other_neuron"]) == theirs
            assert (row["overlap"], row["is_mutual"]) == (1.0, True)
            assert row["null_99"] < 0.8


def test_shuffled_vectors_pass_the_null_as_often_as_random_ones(folder: Path, tmp_path: Path) -> None:
    """Each coordinate keeps its values and loses its neuron: what is left of a layer is what random vectors have."""
    chosen = torch.Generator().manual_seed(0)

    def shuffle(tensors: dict[str, torch.Tensor]) -> None:
        for layer in range(2):
            values = tensors[values_of(layer)]
            for coordinate in values:
                coordinate.copy_(coordinate[torch.randperm(len(coordinate), generator=chosen)])

    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    large = models.build(tmp_path / "many", "opt", d_ffn=400, n_layers=2, d_model=16, seed=4)
    models.edit_tensors(large, shuffle)
    for model in (large, folder / "third"):
        ingests.measure(warehouse, model, ingests.request((), jobs=LISTED))
    (report,) = ingests.compare(warehouse, "many", "third")
    # One in a hundred of 800, give or take: the threshold itself is the fifth of 500, which has a spread of 0.45%, as
    # the share of 800 has 0.35%; four of both together make 2.3%.
    assert numbers_in(report)[0] <= 0.033 * 800


def test_a_second_time_nothing_is_done_whichever_is_named_first(compared: Warehouse) -> None:
    before = ingests.everything(compared)
    for names in (("small", "large"), ("large", "small")):
        (report,) = ingests.compare(compared, *names)
        assert report.n_rows is None
        assert report.models == ("small", "large")
    ingests.assert_same(ingests.everything(compared), before)
    assert not compared.staging.exists()


def test_three_models_are_three_pairs(warehouse: Warehouse) -> None:
    reports = ingests.compare(warehouse, "third", "small", "large")
    assert [report.models for report in reports] == [("small", "third"), ("large", "third"), ("small", "large")]
    assert check(warehouse) == []
    mutual = ingests.table(warehouse, "counterparts", "is_mutual").group_by("set_id", "other_set_id").len()
    found = {(one, other): n for one, other, n in mutual.rows()}
    assert all(found[one, other] == found[other, one] > 0 for one, other in found)
    counted = [numbers_in(report) for report in reports]
    assert [numbers[4] for numbers in counted] == [found[0, 2], found[1, 2], found[0, 1]]
    rows = ingests.table(warehouse, "counterparts").filter(pl.col("is_mutual")).to_dicts()
    beyond = {
        (row["set_id"], row["layer"], row["neuron"], row["other_set_id"], row["other_layer"], row["other_neuron"])
        for row in rows
        if row["overlap"] > row["null_99"]
    }
    either = Counter((one[0], one[3]) for one in beyond if one[3:] + one[:3] in beyond)
    assert [numbers[5] for numbers in counted] == [either[0, 2], either[1, 2], either[0, 1]]


@pytest.mark.parametrize("n_rows", [5, None])
def test_what_is_reported_tells_counterparts_from_what_is_below_chance(n_rows: int | None) -> None:
    found = (
        "40 of 768 and 1,030 of 2,048 neurons have a counterpart above chance;"
        " 145 pairs are mutual best matches, 20 of them above chance on both sides"
    )
    report = PairReport(("a", "b"), "counterparts", n_rows, (found,), 2.31)
    lines = report_lines([Outcome("a", report, None)], Path("w.duckdb"))
    assert (f"a and b: {found}" in lines) == (n_rows is not None)


@pytest.mark.parametrize("arena", [(pair_plan, "publish_pair"), (job, "part"), (job, "rows_frame")])
def test_what_was_staged_is_taken_up(
    warehouse: Warehouse, compared: Warehouse, monkeypatch: pytest.MonkeyPatch, arena: tuple[ModuleType, str]
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*arena, killed)
        with pytest.raises(KeyboardInterrupt):
            ingests.compare(warehouse, "small", "large")
    with warehouse.reader() as connection:
        assert connection.execute("from store.counterparts").fetchall() == []
    with monkeypatch.context() as patch:
        # Nothing is drawn or compared again.
        patch.setattr(job, "compare", killed)
        patch.setattr(CounterpartsJob, "random_lists", killed)
        ingests.compare(warehouse, "large", "small")
    ingests.assert_same(ingests.everything(warehouse), ingests.everything(compared))
    assert not warehouse.staging.exists()


def test_lists_measured_anew_are_compared_anew(folder: Path, warehouse: Warehouse) -> None:
    ingests.compare(warehouse, "small", "large")
    remove(warehouse, "large", job="projections")
    with pytest.raises(
        NotMeasured, match="its token lists are not in the warehouse; measure them with `neurothek ingest"
    ):
        ingests.compare(warehouse, "small", "large")
    ingests.measure(warehouse, folder / "large", ingests.request((), jobs=LISTED))
    (report,) = ingests.compare(warehouse, "small", "large")
    assert report.n_rows == 5 * (24 + 42)
    with warehouse.writer() as connection:
        connection.execute("update store.runs set run_key = 'older' where job = 'projections' and model_id = 0")
    (report,) = ingests.compare(warehouse, "small", "large")
    assert report.n_rows == 5 * (24 + 42)


def test_other_parameters_are_told_and_replaced_by_force(warehouse: Warehouse) -> None:
    ingests.compare(warehouse, "small", "large")
    with warehouse.writer() as connection:
        changed = """parameters = json_merge_patch(parameters, '{"seed": 7}'), run_key = 'x' || run_id"""
        connection.execute(f"update store.runs set {changed} where job = 'counterparts'")
    with pytest.raises(Conflict, match="seed: 7 in the warehouse, 0 requested"):
        ingests.compare(warehouse, "small", "large")
    (report,) = ingests.compare(warehouse, "small", "large", force=True)
    assert report.n_rows is not None
    assert check(warehouse) == []


def test_what_cannot_be_compared_is_told_in_a_sentence(folder: Path, warehouse: Warehouse, tmp_path: Path) -> None:
    for names, error, said in (
        (
            ("small",),
            Invalid,
            "models are compared in pairs, but only small was named; name another",
        ),
        (("small", "small"), Invalid, "cannot compare small with itself; name each model once"),
        (("small", "x/small"), Invalid, "name each model once"),
        (("small", "larg"), NotFound, "no such model in the warehouse; did you mean large"),
        (("small", "zzz"), NotFound, "which has small, large, third, gpt: measure a new one first"),
        (("small", "gpt"), Conflict, "small and gpt have different tokenizers"),
        (("small", f"large={folder / 'third'}"), Conflict, "give the right folder with large=PATH"),
        (("small", f"large={tmp_path / 'none'}"), Unavailable, "give their location with large=PATH"),
    ):
        with pytest.raises(error, match=re.escape(said)):
            ingests.compare(warehouse, *names)
    with pytest.raises(LimitExceeded, match="measuring counterparts needs at least"):
        ingests.compare(warehouse, "small", "large", memory_bytes=1 << 20)
    with pytest.raises(Unavailable, match="there is no warehouse at"):
        ingests.compare(ingests.open_warehouse(tmp_path / "none.duckdb"), "small", "large")
    # Whatever was refused left nothing behind.
    assert not warehouse.staging.exists()


def test_weights_may_lie_elsewhere(folder: Path, warehouse: Warehouse, compared: Warehouse, tmp_path: Path) -> None:
    shutil.copytree(folder / "large", tmp_path / "moved")
    with warehouse.writer() as connection:
        connection.execute("update store.models set source = '/gone/large' where name = 'large'")
    with pytest.raises(Unavailable, match="not usable at '/gone/large'"):
        ingests.compare(warehouse, "small", "large")
    ingests.compare(warehouse, "small", f"large={tmp_path / 'moved'}")
    mine, theirs = (ingests.table(one, "counterparts") for one in (warehouse, compared))
    assert mine.equals(theirs)


def invoke(warehouse: Warehouse, *arguments: str) -> Any:  # noqa: ANN401 - click's result
    command = ["ingest", *arguments, "--warehouse", str(warehouse.path)]
    return CliRunner().invoke(neurothek.main, command, catch_exceptions=False)


def test_the_command(warehouse: Warehouse) -> None:
    planned = invoke(warehouse, "--job", "counterparts", "small", "large", "--plan")
    assert planned.exit_code == 0
    assert planned.stdout.startswith("small and large: counterparts\n  pairs         1,008 of neurons\n  memory ")
    assert "from a trial of" in planned.stdout
    done = invoke(warehouse, "--job", "counterparts", "small", "large", "gpt")
    # Two of the three pairs cannot be; the third was measured.
    assert done.exit_code == 2
    assert "small and large: measured counterparts (330 rows) in " in done.stderr
    assert done.stderr.count("have different tokenizers") == 2
    again = invoke(warehouse, "--job", "counterparts", "small", "large")
    assert (again.exit_code, "small and large: everything is up to date" in again.stderr) == (0, True)
    assert "everything is up to date" in invoke(warehouse, "--job", "counterparts", "small", "large", "--plan").stdout
    for arguments, said in (
        (["small", "--job", "counterparts"], "only small was named"),
        (["small", "large", "--job", "counterparts", "--job", "projections"], "in a separate command"),
        (["small", "large", "--job", "all", "--job", "counterparts"], "in a separate command"),
        (["small", "large", "--job", "counterpart"], "did you mean counterparts?"),
    ):
        refused = invoke(warehouse, *arguments)
        assert (refused.exit_code, said in refused.stderr, refused.stderr.count("\n")) == (2, True, 1)


def test_python_measures_pairs_too(warehouse: Warehouse) -> None:
    door = neurothek.open(warehouse.path)
    (outcome,) = door.ingest("small", "large", jobs=("counterparts",), device="cpu")
    assert (outcome.asked, outcome.problem) == ("small and large", None)
    with pytest.raises(Invalid, match="the job counterparts cannot run together with activity"):
        door.ingest("small", "large", jobs=("counterparts", "activity"))
    page = door.neuron("small/L0N3")
    assert page.data()["counterparts"].row(0, named=True)["address"] == "large/L2N5"
    assert "counterparts in other models" in repr(page)


def test_the_quantile_is_what_one_in_a_hundred_exceeds() -> None:
    values = np.random.default_rng(0).permutation(500) / 500
    assert null_99(values) == 494 / 500
    assert sum(values > null_99(values)) == 5
    assert null_99(np.array([0.5])) == 0.5
    assert null_99(np.zeros(99)) == 0


def of_made_up_models() -> CounterpartsJob:
    """The job for models of two layers and of one."""
    models = [
        ListedModel(
            number, Measured(name, name, None, name), "tokens", n_layers, 8, 4, 100, 16, False, f"lists of {name}"
        )
        for number, (name, n_layers) in enumerate({"a": 2, "b": 1}.items())
    ]
    return CounterpartsJob(PairContext.of(Mock(spec=Warehouse), models[::-1]))


def test_random_vectors_come_first_then_what_is_compared_then_rows_of_either_model() -> None:
    shards, parts = of_made_up_models().shards(), ("forth", "back", "random_forth", "random_back")
    assert shards == {
        "random-one": ("random_one",),
        "random-other": ("random_other",),
        "layer-0000": parts,
        "layer-0001": parts,
        "one-0000": ("counterparts",),
        "one-0001": ("counterparts",),
        "other-0000": ("counterparts",),
    }
    order = ["random-one", "random-other", "layer-0000", "layer-0001", "one-0000", "one-0001", "other-0000"]
    assert list(shards) == order


def test_its_tables_and_its_parameters() -> None:
    made = of_made_up_models()
    assert [table.name for table in made.tables] == ["counterparts"]
    assert made.tables[0] is BY_NAME["counterparts"]
    own = {"n_best": 5, "n_random": N_RANDOM, "seed": 0}
    assert made.parameters() == own | {"projections": "lists of a", "other_projections": "lists of b"}
    assert made.turned.parameters() == own | {"projections": "lists of b", "other_projections": "lists of a"}
    assert "counterparts" not in IngestRequest().jobs
    assert isinstance(BY_NAME["counterparts"].schema["overlap"], pl.Float64)
