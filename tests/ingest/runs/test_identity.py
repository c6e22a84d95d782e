"""What is finished is not measured again, what contradicts it is refused, and what is forced or stale is replaced."""

import dataclasses
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from neurothek.catalog.exchange.merging import merge
from neurothek.catalog.problems import Conflict
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.finding import measured_models
from neurothek.ingest.models.measured import open_measured
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.request import IngestRequest, ModelSource
from neurothek.ingest.runs.identity import RunIdentity
from tests.support import ingests
from tests.support.models import build, edit_config, edit_tensors
from tests.support.tokenizers import make_tokenizer

# One worker measures the model once; every test works on a copy.
pytestmark = pytest.mark.xdist_group("runs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("finished")


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return build(folder / "tiny", "opt", d_ffn=32)


@pytest.fixture(scope="module")
def asked(folder: Path) -> IngestRequest:
    return ingests.request(ingests.write_corpus(folder))


@pytest.fixture(scope="module")
def finished(folder: Path, model: Path, asked: IngestRequest) -> Warehouse:
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    ingests.measure(warehouse, model, asked)
    return warehouse


@pytest.fixture
def warehouse(finished: Warehouse, tmp_path: Path) -> Warehouse:
    shutil.copy(finished.path, tmp_path / "w.duckdb")
    return ingests.open_warehouse(tmp_path / "w.duckdb")


def digest(warehouse: Warehouse) -> str:
    return hashlib.sha256(warehouse.path.read_bytes()).hexdigest()


def test_a_second_run_changes_no_byte(warehouse: Warehouse, model: Path, asked: IngestRequest) -> None:
    before = digest(warehouse)
    report = ingests.measure(warehouse, model, asked)
    assert (report.jobs, report.rows) == ((), {})
    assert report.up_to_date == ("projections", "activity", "contexts")
    assert digest(warehouse) == before
    assert [path.name for path in warehouse.path.parent.iterdir()] == ["w.duckdb"]


def test_jobs_can_be_measured_one_by_one(
    finished: Warehouse, tmp_path: Path, model: Path, asked: IngestRequest
) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for number, job in enumerate(ingests.JOBS):
        report = ingests.measure(warehouse, model, dataclasses.replace(asked, jobs=ingests.JOBS[: number + 1]))
        assert (report.jobs, report.up_to_date) == ((job,), ingests.JOBS[:number])
    # Whole runs: text jobs measured apart have seen the same activations as together.
    ingests.assert_same(ingests.everything(warehouse), ingests.everything(finished))


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"active_above": 0.5}, "activation_rule: m != 0 in the warehouse, m > 0.5 requested"),
        ({"dtype": "bfloat16"}, "dtype: float32 in the warehouse, bfloat16 requested"),
    ],
)
def test_other_settings_are_refused_with_the_difference(
    warehouse: Warehouse, model: Path, asked: IngestRequest, changes: dict[str, Any], difference: str
) -> None:
    before = digest(warehouse)
    with pytest.raises(Conflict, match="is in the warehouse with other settings") as caught:
        ingests.measure(warehouse, model, dataclasses.replace(asked, **changes))
    assert f"activity of tiny is in the warehouse with other settings ({difference})" in str(caught.value)
    assert "--force" in str(caught.value)
    assert digest(warehouse) == before
    assert not warehouse.staging.exists()


def test_projections_are_the_same_whatever_the_model_computes_in(
    warehouse: Warehouse, model: Path, asked: IngestRequest
) -> None:
    weights_only = dataclasses.replace(asked, jobs=("projections",), dtype="bfloat16", active_above=0.5)
    assert ingests.measure(warehouse, model, weights_only).up_to_date == ("projections",)


def test_force_replaces_what_differs_and_nothing_else(
    warehouse: Warehouse, tmp_path: Path, model: Path, asked: IngestRequest
) -> None:
    before = ingests.everything(warehouse)
    other = dataclasses.replace(asked, active_above=0.5)
    report = ingests.measure(warehouse, model, dataclasses.replace(other, force=True))
    assert (report.jobs, report.up_to_date) == (("activity",), ("projections", "contexts"))
    after = ingests.everything(warehouse)
    assert after["runs"]["job"].to_list() == ["projections", "contexts", "activity"]
    assert not after["activity"]["n_active"].equals(before["activity"]["n_active"])
    for table in ("projections", "postings", "contexts", "sequences", "tokens", "models", "corpora"):
        assert after[table].equals(before[table])
    # And it is what that request gives from the beginning.
    fresh = ingests.open_warehouse(tmp_path / "fresh.duckdb")
    ingests.measure(fresh, model, other)
    for table in ("activity", "neuron_facts"):
        expected = ingests.everything(fresh)[table]
        same = [name for name in expected.columns if name != "run_id"]
        assert after[table].select(same).equals(expected.select(same))
    # Now the forced run is the finished one.
    assert ingests.measure(warehouse, model, other).jobs == ()


def test_a_raised_version_is_measured_anew_without_force(
    warehouse: Warehouse, model: Path, asked: IngestRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    raise_version(monkeypatch, to=2)
    report = ingests.measure(warehouse, model, asked)
    assert (report.jobs, report.up_to_date) == (("activity",), ("projections", "contexts"))
    runs = ingests.table(warehouse, "runs")
    assert dict(runs.select("job", "job_version").iter_rows()) == {"projections": 1, "contexts": 2, "activity": 2}
    assert ingests.measure(warehouse, model, asked).jobs == ()
    # A release from before does not replace what a later one measured.
    raise_version(monkeypatch, to=1)
    with pytest.raises(Conflict, match="job_version: 2 in the warehouse, 1 requested"):
        ingests.measure(warehouse, model, asked)


def test_force_measures_again_what_an_earlier_release_measured_less_of(
    warehouse: Warehouse, model: Path, asked: IngestRequest
) -> None:
    """Its projections stand as they are until somebody asks for more, and only they are measured again."""
    whole = ingests.everything(warehouse)
    with warehouse.writer() as connection:
        connection.execute("delete from store.logit_histograms")
    assert ingests.measure(warehouse, model, asked).jobs == ()
    forced = dataclasses.replace(asked, force=True)
    report = ingests.measure(warehouse, model, forced)
    assert (report.jobs, report.up_to_date) == (("projections",), ("activity", "contexts"))
    for table in ("projections", "postings", "token_neighbours", "logit_histograms", "token_indicators"):
        values = [name for name in whole[table].columns if name != "run_id"]
        assert ingests.table(warehouse, table).select(values).equals(whole[table].select(values))
    assert ingests.measure(warehouse, model, forced).jobs == ()


def raise_version(monkeypatch: pytest.MonkeyPatch, *, to: int) -> None:
    monkeypatch.setattr(ActivityJob, "version", to)


def test_a_name_with_other_weights_is_refused_and_another_name_is_not(
    warehouse: Warehouse, tmp_path: Path, model: Path, asked: IngestRequest
) -> None:
    other = shutil.copytree(model, tmp_path / "tiny")
    edit_tensors(other, lambda tensors: next(iter(tensors.values())).mul_(1.01))
    before = digest(warehouse)
    with pytest.raises(Conflict, match="already has a model tiny with other weights"):
        ingests.measure(warehouse, other, asked)
    assert digest(warehouse) == before
    earlier = ingests.everything(warehouse)
    report = ingests.measure(warehouse, f"second={other}", asked)
    assert report.jobs == ingests.JOBS
    first = ingests.table(warehouse, "projections", "set_id = 0")
    assert first.equals(earlier["projections"])
    assert ingests.table(warehouse, "models")["name"].to_list() == ["tiny", "second"]
    # One tokenizer and one text serve both.
    for table in ("tokenizers", "tokens", "corpora", "sequences", "token_counts"):
        assert ingests.everything(warehouse)[table].equals(earlier[table])


def test_the_same_weights_under_two_names_are_two_models(
    warehouse: Warehouse, model: Path, asked: IngestRequest
) -> None:
    ingests.measure(warehouse, f"twin={model}", dataclasses.replace(asked, jobs=("activity",)))
    activity = ingests.table(warehouse, "activity").drop("run_id")
    first, second = (activity.filter(pl.col("set_id") == number).drop("set_id") for number in (0, 1))
    assert first.equals(second)


def test_another_tokenizer_beside_known_weights_is_refused(
    warehouse: Warehouse, tmp_path: Path, model: Path, asked: IngestRequest
) -> None:
    changed = shutil.copytree(model, tmp_path / "tiny")
    make_tokenizer("opt", 380).save_pretrained(changed)
    before = digest(warehouse)
    with pytest.raises(Conflict, match="tiny was measured with a different tokenizer"):
        ingests.measure(warehouse, changed, asked)
    assert digest(warehouse) == before


def test_another_config_beside_known_weights_is_refused(
    warehouse: Warehouse, tmp_path: Path, model: Path, asked: IngestRequest
) -> None:
    changed = edit_config(shutil.copytree(model, tmp_path / "tiny"), num_attention_heads=2)
    before = digest(warehouse)
    with pytest.raises(Conflict, match="n_heads: 4 in the warehouse, 2 requested"):
        ingests.measure(warehouse, changed, asked)
    assert digest(warehouse) == before


def test_settings_beside_the_sizes_are_part_of_a_model(tmp_path: Path, asked: IngestRequest) -> None:
    """Other rotations turn the same weights into another model; OPT has no such settings and keeps its run keys."""
    folder = build(tmp_path / "turned", "llama", d_ffn=8)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    only_weights = dataclasses.replace(asked, jobs=("projections",))
    ingests.measure(warehouse, folder, only_weights)
    assert ingests.measure(warehouse, folder, only_weights).jobs == ()
    edit_config(folder, rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    with pytest.raises(Conflict, match=r"rope_parameters: \{.*10000.* in the warehouse, \{.*500.* requested"):
        ingests.measure(warehouse, folder, only_weights)


GPT2_SETTINGS = {"layer_norm_epsilon": 1e-5, "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}


def test_keys_name_settings_of_gpt2_only_where_they_are_unusual() -> None:
    """Earlier releases took no note of them: what they measured of published checkpoints keeps its keys."""
    usual = shape_of("gpt2", json.dumps(GPT2_SETTINGS, sort_keys=True))
    assert "settings" not in usual.identity()
    assert usual.identity() == shape_of("gpt2", "").identity()
    unusual = shape_of("gpt2", json.dumps(GPT2_SETTINGS | {"layer_norm_epsilon": 1e-3}))
    assert unusual.identity() == usual.identity() | {"settings": '{"layer_norm_epsilon": 0.001}'}
    # Of others every setting has been part of the key from the beginning, null too.
    for said in ('{"rms_norm_eps": 1e-05, "sliding_window": null}', '{"layer_norm_eps": 1e-12}'):
        assert shape_of("mistral", said).identity()["settings"] == said


def shape_of(architecture: str, settings: str) -> Shape:
    return Shape(
        n_layers=8,
        d_model=8,
        d_ffn=8,
        n_heads=8,
        vocab_size=8,
        context_length=8,
        n_parameters=8,
        architecture=architecture,
        activation="gelu_new",
        norm_position="pre",
        position_encoding="learned",
        n_parameters_embedding=4,
        has_exact_zeros=False,
        settings=settings,
    )


@pytest.fixture(scope="module")
def configured(folder: Path, asked: IngestRequest) -> tuple[Path, Warehouse]:
    """A GPT-2 and its warehouse."""
    model = build(folder / "configured", "gpt2", d_ffn=16)
    warehouse = ingests.open_warehouse(folder / "configured.duckdb")
    ingests.measure(warehouse, model, dataclasses.replace(asked, jobs=("projections", "activity")))
    return model, warehouse


@pytest.fixture
def both(configured: tuple[Path, Warehouse], tmp_path: Path) -> tuple[Path, Warehouse]:
    """Copies of both."""
    shutil.copy(configured[1].path, tmp_path / "w.duckdb")
    return shutil.copytree(configured[0], tmp_path / "configured"), ingests.open_warehouse(tmp_path / "w.duckdb")


def test_settings_of_gpt2_beside_known_weights_are_refused(
    both: tuple[Path, Warehouse], asked: IngestRequest, tmp_path: Path
) -> None:
    model, warehouse = both
    assert json.loads(ingests.table(warehouse, "models").item(0, "settings")) == GPT2_SETTINGS
    before = digest(warehouse)
    known = measured_models(warehouse)["configured"]
    for number, (name, value) in enumerate(
        {"layer_norm_epsilon": 0.5, "scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}.items()
    ):
        folder = edit_config(shutil.copytree(model, tmp_path / str(number) / "configured"), **{name: value})
        said = rf"{name}: {GPT2_SETTINGS[name]} in the warehouse, {value} requested"
        with pytest.raises(Conflict, match=said):
            ingests.measure(warehouse, folder, asked)
        # Nor does a question that runs the model get numbers that go with no row.
        with pytest.raises(Conflict, match=said):
            open_measured(known, weights=folder)
    assert digest(warehouse) == before
    # Under another name it is another model, with keys and numbers of its own.
    activity = dataclasses.replace(asked, jobs=("activity",))
    assert ingests.measure(warehouse, f"other={folder}", activity).jobs == ("activity",)
    runs = ingests.table(warehouse, "runs").filter(pl.col("job") == "activity")
    assert runs["run_key"].n_unique() == runs.height == 2
    rows = ingests.table(warehouse, "activity").select("set_id", "activation_sum")
    first, second = (rows.filter(pl.col("set_id") == number)["activation_sum"] for number in (0, 1))
    assert not first.equals(second)


def without_settings(warehouse: Warehouse) -> None:
    """As an earlier release left it."""
    with warehouse.writer() as connection:
        connection.execute("update store.models set settings = ''")


def test_a_model_measured_before_its_settings_were_noted_is_up_to_date(
    both: tuple[Path, Warehouse], asked: IngestRequest
) -> None:
    model, warehouse = both
    without_settings(warehouse)
    runs = ingests.table(warehouse, "runs")
    told: list[str] = []
    again = dataclasses.replace(asked, jobs=("projections", "activity"))
    report = ingest_model(warehouse, again, ModelSource.parse(str(model)), announce=told.append)
    assert (report.jobs, report.up_to_date) == ((), ("projections", "activity"))
    assert ingests.table(warehouse, "runs").equals(runs)
    (said,) = told
    assert "config.json was not recorded when it was measured, but is now: layer_norm_epsilon 1e-05" in said
    # What was seen once is known, and told once.
    before = digest(warehouse)
    assert ingest_model(warehouse, again, ModelSource.parse(str(model)), announce=told.append).jobs == ()
    assert (digest(warehouse), len(told)) == (before, 1)
    with pytest.raises(Conflict, match=r"layer_norm_epsilon: 1e-05 in the warehouse, 0\.5 requested"):
        ingests.measure(warehouse, edit_config(model, layer_norm_epsilon=0.5), asked)


def test_a_model_edited_before_its_settings_were_noted_is_measured_anew(
    both: tuple[Path, Warehouse], asked: IngestRequest
) -> None:
    model, warehouse = both
    without_settings(warehouse)
    before = ingests.table(warehouse, "activity").drop("run_id")
    edit_config(model, scale_attn_by_inverse_layer_idx=True)
    told: list[str] = []
    activity = dataclasses.replace(asked, jobs=("activity",))
    assert ingest_model(warehouse, activity, ModelSource.parse(str(model)), announce=told.append).jobs == ("activity",)
    assert not ingests.table(warehouse, "activity").drop("run_id").equals(before)
    assert "projections may have been measured with other values: measure them again with --force" in told[0]
    assert ingests.measure(warehouse, model, activity).jobs == ()


def test_a_warehouse_of_the_same_weights_with_other_settings_is_not_merged(
    both: tuple[Path, Warehouse], asked: IngestRequest, tmp_path: Path
) -> None:
    model, warehouse = both
    other = ingests.open_warehouse(tmp_path / "other.duckdb")
    weights = dataclasses.replace(asked, jobs=("projections",))
    ingests.measure(other, edit_config(model, scale_attn_weights=False), weights)
    with pytest.raises(Conflict, match=r"configured, with different config.json \(scale_attn_weights\)"):
        merge(warehouse, other.path, progress=Silent())


def test_another_text_or_length_is_another_run(warehouse: Warehouse, tmp_path: Path, model: Path) -> None:
    (tmp_path / "few.txt").write_text("one two three six")
    few = (f"few={tmp_path / 'few.txt'}",)
    # So few words make the same ids whatever the length; it is another corpus all the same.
    for number, length in enumerate((16, 32), start=2):
        report = ingests.measure(warehouse, model, ingests.request(few, text={"sequence_length": length}))
        assert (report.jobs, report.up_to_date) == (("activity", "contexts"), ("projections",))
        corpora = ingests.table(warehouse, "corpora")
        assert corpora.height == number
        assert corpora["sequence_length"][-1] == length
    assert corpora["sha256"][1] == corpora["sha256"][2]
    runs = ingests.table(warehouse, "runs")
    assert runs["run_key"].n_unique() == runs.height == 1 + 2 * 3
    assert ingests.measure(warehouse, model, ingests.request(few, text={"sequence_length": 16})).jobs == ()


IDENTITY = RunIdentity(
    job="activity",
    version=1,
    model="tiny",
    weights_sha256="w",
    shape={"n_layers": 2, "activation": "relu"},
    tokenizer_sha256="t",
    corpus_sha256="c",
    sequence_length=64,
    dtype="float32",
    parameters={"above": [0.1, 0.5]},
    tokenizer_identity=None,
)


@pytest.mark.parametrize(
    "change",
    [
        {"job": "contexts"},
        {"version": 2},
        {"weights_sha256": "x"},
        {"shape": {"n_layers": 2, "activation": "gelu"}},
        {"tokenizer_sha256": "u"},
        {"corpus_sha256": None},
        {"sequence_length": 32},
        {"dtype": "bfloat16"},
        {"parameters": {"above": [0.1, 1.0]}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_run_key_changes_with_whatever_changes_a_number(change: dict[str, Any]) -> None:
    assert dataclasses.replace(IDENTITY, **change).key != IDENTITY.key


def test_the_run_key_knows_no_names_and_no_order_of_parameters() -> None:
    assert dataclasses.replace(IDENTITY, model="another").key == IDENTITY.key
    shuffled = dataclasses.replace(IDENTITY, shape=dict(reversed(list(IDENTITY.shape.items()))))
    assert shuffled.key == IDENTITY.key


def test_a_run_says_with_what_it_was_measured(finished: Warehouse) -> None:
    runs = {row["job"]: row for row in ingests.table(finished, "runs").to_dicts()}
    assert json.loads(runs["activity"]["parameters"]) == {"above": [0.1, 0.5, 1.0, 2.0], "activation_rule": "m != 0"}
    assert json.loads(runs["projections"]["parameters"]) == {"k": 50, "neighbours": 20}
    assert {"torch", "transformers", "neurothek"} <= json.loads(runs["contexts"]["versions"]).keys()
    for row in runs.values():
        assert row["started_at"] <= row["finished_at"]
        of_weights = ("projections", "postings", "token_neighbours", "logit_histograms", "token_indicators")
        of_contexts = ("contexts", "context_windows", "activation_histograms")
        tables = {"projections": of_weights, "contexts": of_contexts}.get(row["job"], (row["job"],))
        assert row["n_rows"] == sum(ingests.table(finished, name).height for name in tables)
