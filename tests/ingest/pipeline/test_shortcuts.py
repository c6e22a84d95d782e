"""Shortcuts from end to end: interrupted ingests publish the same bits, and matrices stay with their warehouse."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from click.testing import CliRunner

import neurothek
from neurothek.catalog.exchange.exports import export
from neurothek.catalog.exchange.imports import import_folder
from neurothek.catalog.exchange.merging import merge
from neurothek.catalog.problems import Conflict, Damaged, LimitExceeded, NotFound, NotMeasured, Unavailable, Unreadable
from neurothek.catalog.publishing.staging import StagedRun
from neurothek.catalog.store.matrices import stored_matrices
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import remove, rename
from neurothek.catalog.upkeep.checks import FILES, check
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.shortcuts import fitting
from neurothek.ingest.jobs.shortcuts.job import ShortcutsJob
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.planning import model_plan
from neurothek.ingest.request import IngestRequest, ModelSource
from tests.support import ingests
from tests.support.models import build
from tests.support.shortcuts import write_sentences

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("shortcut_ingest")]

JOBS = ("shortcuts",)
N_LAYERS, WIDTH, N_METHODS = 2, 16, 5
TABLES = ("shortcut_sentences", "shortcuts", "shortcut_maps", "shortcut_readings", "shortcut_tops", "sub_module_fits")


@pytest.fixture(scope="module", autouse=True)
def small_shards() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "SENTENCES_AT_ONCE", 10)
        yield


@pytest.fixture(scope="module")
def folder(small_shards: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    build(folder / "tiny", "opt", n_layers=N_LAYERS, d_model=WIDTH)
    spec = write_sentences(folder, n=100)
    asked = ingests.request((spec,), jobs=JOBS)
    ingests.measure(ingests.open_warehouse(folder / "w.duckdb"), folder / "tiny", asked)
    return folder


@pytest.fixture
def asked(folder: Path) -> IngestRequest:
    return ingests.request((f"prose={folder / 'prose'}",), jobs=JOBS)


@pytest.fixture
def whole(folder: Path) -> Warehouse:
    """Measured, and only to be read."""
    return ingests.open_warehouse(folder / "w.duckdb")


@pytest.fixture
def warehouse(whole: Warehouse, tmp_path: Path) -> Warehouse:
    """A copy to change."""
    return copied(whole, tmp_path / "copy.duckdb")


def copied(whole: Warehouse, to: Path, *, maps: bool = True) -> Warehouse:
    shutil.copyfile(whole.path, to)
    found = ingests.open_warehouse(to)
    if maps:
        shutil.copytree(whole.maps, found.maps)
    return found


def files(warehouse: Warehouse) -> dict[str, bytes]:
    """Everything beside the warehouse."""
    found = warehouse.maps.rglob("*") if warehouse.maps.exists() else ()
    return {path.relative_to(warehouse.maps).as_posix(): path.read_bytes() for path in found if path.is_file()}


def a_file(warehouse: Warehouse) -> Path:
    return next(warehouse.maps.rglob("0001-*.safetensors"))


def door(warehouse: Warehouse) -> neurothek.Neurothek:
    return neurothek.open(warehouse.path)


def test_an_ingest_publishes_every_table_and_keeps_the_matrices(whole: Warehouse) -> None:
    rows = {name: ingests.table(whole, name) for name in (*TABLES, "shortcut_predictions")}
    n = rows["shortcut_sentences"].height
    n_validation = n // 4
    assert rows["shortcuts"].height == 2 * 3
    assert rows["shortcut_readings"].height == N_METHODS * (N_LAYERS + 1) * n_validation
    assert rows["shortcut_predictions"].height == N_METHODS * (N_LAYERS + 1)
    assert rows["sub_module_fits"].height == 4 * N_LAYERS
    assert rows["shortcut_tops"].height == 2 * (N_LAYERS + 1) * min(50, n_validation) * 5
    run = ingests.table(whole, "runs").row(0, named=True)
    assert list(files(whole)) == [f"{run['run_key']}/000{state}-0002.safetensors" for state in range(N_LAYERS)]
    assert not whole.staging.exists()
    assert check(whole) == []


def test_what_is_finished_is_not_measured_again(whole: Warehouse, folder: Path, asked: IngestRequest) -> None:
    assert ingests.measure(whole, folder / "tiny", asked).up_to_date == JOBS


def test_matrices_are_read_in_python(whole: Warehouse) -> None:
    first = door(whole).shortcut("tiny", state=0)
    assert first.shape == (WIDTH, WIDTH)
    assert first.dtype == np.float32
    assert not np.array_equal(first, door(whole).shortcut("tiny", state=1))
    with pytest.raises(NotFound, match="nearest: tiny"):
        door(whole).shortcut("tinny", state=0)
    with pytest.raises(NotFound, match="from state 2 to state 2; states are 0 to 2"):
        door(whole).shortcut("tiny", state=2)
    with pytest.raises(NotMeasured, match=r"from state 0 to state 1 was not kept.*--keep all --force"):
        door(whole).shortcut("tiny", state=0, target=1)


def test_a_model_without_shortcuts_is_told_how_to_get_them(tmp_path: Path, folder: Path) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, folder / "tiny", IngestRequest(jobs=("projections",)))
    with pytest.raises(NotMeasured, match="`neurothek ingest tiny --job shortcuts`"):
        door(warehouse).shortcut("tiny", state=0)


@pytest.mark.parametrize("when", ["before", "after"])
def test_interrupted_at_every_shard_is_uninterrupted(
    when: str,
    tmp_path: Path,
    folder: Path,
    asked: IngestRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Just before a shard is there its files are; just after it the next shard's are not."""
    whole = ingests.open_warehouse(folder / "w.duckdb")
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    tried: set[str] = set()
    original = StagedRun.write

    def write(self: StagedRun, shard: str, frames: dict[str, pl.DataFrame], *, is_passing: bool = False) -> None:
        if when == "before" and shard not in tried:
            tried.add(shard)
            raise KeyboardInterrupt
        original(self, shard, frames, is_passing=is_passing)
        if when == "after":
            tried.add(shard)
            raise KeyboardInterrupt

    monkeypatch.setattr(StagedRun, "write", write)
    n_interrupted = 0
    while True:
        try:
            ingests.measure(warehouse, folder / "tiny", asked)
            break
        except KeyboardInterrupt:
            n_interrupted += 1
    assert n_interrupted == len(tried) >= 1 + 2 * N_LAYERS + 3
    ingests.assert_same(ingests.everything(warehouse), ingests.everything(whole))
    assert files(warehouse) == files(whole)


def test_a_small_budget_streams_the_weights_and_gives_the_same_rows(
    tmp_path: Path, folder: Path, whole: Warehouse, asked: IngestRequest
) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    opened = open_transformer(find(str(folder / "tiny"))), load(folder / "tiny")
    needed = ShortcutsJob(JobContext(*opened, batch_tokens=asked.batch_tokens)).memory_bytes(is_resident=False)
    with pytest.raises(LimitExceeded, match="of memory, but --memory allows"):
        ingests.measure(warehouse, folder / "tiny", dataclasses.replace(asked, memory_bytes=needed - 1))
    assert not warehouse.exists()
    ingests.measure(warehouse, folder / "tiny", dataclasses.replace(asked, memory_bytes=needed))
    ingests.assert_same(ingests.everything(warehouse), ingests.everything(whole))
    assert files(warehouse) == files(whole)


def test_too_little_disk_is_said_before_anything_is_written(
    tmp_path: Path, folder: Path, asked: IngestRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_plan, "free_bytes", lambda folder: 1_000)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    with pytest.raises(LimitExceeded, match="--staging"):
        ingests.measure(warehouse, folder / "tiny", asked)
    assert list(tmp_path.iterdir()) == []


def test_all_matrices_are_kept_if_asked_and_their_size_is_said_first(
    warehouse: Warehouse, folder: Path, asked: IngestRequest
) -> None:
    everything = dataclasses.replace(asked, keep="all")
    with pytest.raises(Conflict, match="keep: last in the warehouse, all requested"):
        ingests.measure(warehouse, folder / "tiny", everything)
    before, said = files(warehouse), list[str]()
    source = ModelSource(str(folder / "tiny"))
    ingest_model(warehouse, dataclasses.replace(everything, force=True), source, announce=said.append)
    assert said == ["tiny: keeping all 3 matrices takes 0.00 MB beside the warehouse"]
    names = [name.partition("/")[2] for name in files(warehouse)]
    assert sorted(names) == [f"000{a}-000{b}.safetensors" for a, b in ((0, 1), (0, 2), (1, 2))]
    # Those of the run that was replaced are gone, and its matrices to the last state are among the new ones.
    assert not set(before) & set(files(warehouse))
    assert set(before.values()) < set(files(warehouse).values())
    assert door(warehouse).shortcut("tiny", state=0, target=1).shape == (WIDTH, WIDTH)
    assert check(warehouse) == []


@pytest.mark.parametrize(
    "drop",
    [
        lambda warehouse: remove(warehouse, "tiny"),
        lambda warehouse: remove(warehouse, "tiny", job="shortcuts"),
        lambda warehouse: remove(warehouse, "tiny", corpus="prose"),
    ],
    ids=["model", "job", "corpus"],
)
def test_what_is_removed_takes_its_matrices_along(warehouse: Warehouse, drop: Callable[[Warehouse], object]) -> None:
    (warehouse.maps / "notes.txt").write_text("a person's own")
    drop(warehouse)
    assert list(files(warehouse)) == ["notes.txt"]
    (warehouse.maps / "notes.txt").unlink()
    warehouse.maps.rmdir()
    assert check(warehouse) == []


def test_two_names_of_one_model_share_their_matrices_until_both_are_gone(
    warehouse: Warehouse, folder: Path, asked: IngestRequest
) -> None:
    ingests.measure(warehouse, f"twin={folder / 'tiny'}", asked)
    before = files(warehouse)
    assert len(before) == N_LAYERS
    remove(warehouse, "tiny")
    assert files(warehouse) == before
    assert np.isfinite(door(warehouse).shortcut("twin", state=0)).all()
    remove(warehouse, "twin")
    assert not warehouse.maps.exists()


def test_a_renamed_model_keeps_its_matrices(warehouse: Warehouse) -> None:
    before = door(warehouse).shortcut("tiny", state=1)
    rename(warehouse, "tiny", "small")
    assert np.array_equal(door(warehouse).shortcut("small", state=1), before)
    assert check(warehouse) == []


def test_what_a_kill_left_half_done_goes_with_the_next_transaction(warehouse: Warehouse) -> None:
    before = files(warehouse)
    for name in ("0" * 64, f".{'1' * 64}"):
        shutil.copytree(a_file(warehouse).parent, warehouse.maps / name)
    rename(warehouse, "tiny", "small")
    assert files(warehouse) == before


def test_a_missing_matrix_names_the_command_that_makes_it_anew(
    warehouse: Warehouse, folder: Path, asked: IngestRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(warehouse)
    a_file(warehouse).unlink()
    with pytest.raises(Unavailable, match=r"recreate it with `(neurothek .*)`") as missing:
        door(warehouse).shortcut("tiny", state=1)
    command = str(missing.value).split("`")[1]
    said = CliRunner().invoke(neurothek.main, ["check", "--warehouse", str(warehouse.path)])
    assert said.exit_code == 0
    anew = f"{command} --warehouse {warehouse.path}"
    beside = f"copy {warehouse.maps.name} from beside the original"
    assert f"kept matrices missing beside the warehouse: 1; {beside}, or recreate them with `{anew}`" in said.stderr
    assert command == "neurothek ingest tiny --job shortcuts --corpus prose --sequence-length 64"
    # The batches of the test's own request, so that the bits are the same.
    arguments = [*command.split()[1:], "--batch-tokens", str(asked.batch_tokens), "--warehouse", str(warehouse.path)]
    answer = CliRunner().invoke(neurothek.main, arguments)
    assert answer.exit_code == 0, answer.output
    assert files(warehouse) == before
    assert check(warehouse) == []


def test_a_copy_of_the_file_alone_says_which_folder_it_needs(whole: Warehouse, tmp_path: Path) -> None:
    copy = copied(whole, tmp_path / "copy.duckdb", maps=False)
    name = "copy.duckdb.shortcuts"
    with pytest.raises(
        Unavailable, match=f"needs its folder {name} beside it; copy that folder to {tmp_path / name}, "
    ):
        door(copy).shortcut("tiny", state=1)
    shutil.copytree(whole.maps, tmp_path / name)
    assert np.array_equal(door(copy).shortcut("tiny", state=1), door(whole).shortcut("tiny", state=1))
    readme = " ".join((Path(__file__).parents[3] / "README.md").read_text().split())
    assert "`neurothek.duckdb.shortcuts`, beside the file: copy both" in readme


def test_the_command_that_makes_it_anew_says_what_was_asked_for(whole: Warehouse) -> None:
    with whole.reader() as connection:
        one = stored_matrices(connection)[0]
    said = json.dumps({"keep": "all", "domains": ["prose", "code"], "methods": ["mat"]})
    recipe = json.dumps({"tokens_per_domain": 500, "sequence_length": 64})
    other = dataclasses.replace(
        one,
        model="mine",
        corpus="builtin",
        recipe=recipe,
        parameters=said,
        dtype="bfloat16",
    )
    assert other.again() == (
        "neurothek ingest mine --job shortcuts --corpus builtin --tokens 500"
        " --sequence-length 64 --keep all --domain prose --domain code --dtype bfloat16"
    )


def test_a_changed_matrix_is_refused(warehouse: Warehouse) -> None:
    path = a_file(warehouse)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(Damaged, match="changed or damaged; delete it and recreate it with `neurothek ingest"):
        door(warehouse).shortcut("tiny", state=1)
    (finding,) = check(warehouse)
    assert (finding.name, finding.n_rows, finding.example) == (FILES, 1, "tiny, states 1 to 2")


def test_an_export_takes_the_matrices_and_an_import_brings_them_back(whole: Warehouse, tmp_path: Path) -> None:
    manifest = export(whole, tmp_path / "out")
    assert len(manifest.maps) == N_LAYERS
    assert manifest.missing_maps == ()
    back = ingests.open_warehouse(tmp_path / "back.duckdb")
    import_folder(back, tmp_path / "out")
    assert files(back) == files(whole)
    assert np.array_equal(door(back).shortcut("tiny", state=1), door(whole).shortcut("tiny", state=1))
    assert check(back) == []


def test_an_export_without_a_matrix_says_so_and_loses_nothing_else(warehouse: Warehouse, tmp_path: Path) -> None:
    a_file(warehouse).unlink()
    answer = CliRunner().invoke(neurothek.main, ["export", str(tmp_path / "out"), "--warehouse", str(warehouse.path)])
    assert "1 kept matrix (1 more were missing beside the warehouse, or changed)" in answer.stderr
    back = ingests.open_warehouse(tmp_path / "back.duckdb")
    manifest = import_folder(back, tmp_path / "out")
    assert (len(manifest.maps), len(manifest.missing_maps)) == (1, 1)
    assert files(back) == files(warehouse)
    ingests.assert_same(ingests.everything(back), ingests.everything(warehouse))


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"nothing")], ids=["missing", "changed"])
def test_a_damaged_matrix_is_not_imported(damage: Callable[[Path], object], whole: Warehouse, tmp_path: Path) -> None:
    export(whole, tmp_path / "out")
    damage(next((tmp_path / "out" / "shortcuts").rglob("0001-*.safetensors")))
    back = ingests.open_warehouse(tmp_path / "back.duckdb")
    with pytest.raises(Unreadable, match=r"0001-0002\.safetensors is missing, was changed or is damaged"):
        import_folder(back, tmp_path / "out")
    assert ingests.table(back, "models").is_empty()


def test_a_merge_takes_the_matrices_and_finds_lost_ones_again(
    whole: Warehouse, warehouse: Warehouse, tmp_path: Path
) -> None:
    ours = ingests.open_warehouse(tmp_path / "ours.duckdb")
    merged = merge(ours, warehouse.path)
    assert merged.missing_maps == ()
    assert files(ours) == files(whole)
    a_file(ours).unlink()
    assert merge(ours, warehouse.path).n_runs == 0
    assert files(ours) == files(whole)
    assert check(ours) == []


def test_a_merge_without_the_matrices_says_how_to_make_them(whole: Warehouse, tmp_path: Path) -> None:
    bare = copied(whole, tmp_path / "bare.duckdb", maps=False)
    answer = CliRunner().invoke(neurothek.main, ["merge", str(bare.path), "--warehouse", str(tmp_path / "ours.duckdb")])
    assert answer.exit_code == 0
    assert "kept matrices missing or changed beside both warehouses: 2; recreate them with" in answer.stderr
    assert "neurothek ingest" in answer.stderr


def test_the_plan_says_what_files_take(folder: Path, tmp_path: Path) -> None:
    arguments = [
        "ingest",
        str(folder / "tiny"),
        "--job",
        "shortcuts",
        "--corpus",
        f"prose={folder / 'prose'}",
        "--plan",
    ]
    answer = CliRunner().invoke(neurothek.main, [*arguments, "--warehouse", str(tmp_path / "w.duckdb")])
    assert answer.exit_code == 0, answer.output
    assert "files         shortcuts: up to 0.00 GB under" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--method", "mta"], "there is no shortcut mta; did you mean mat?"),
        (["--domain", "law"], "the corpus prose has no domain law; it has prose"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(
    folder: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    text = ["--corpus", f"prose={folder / 'prose'}", "--warehouse", str(tmp_path / "w.duckdb")]
    answer = CliRunner().invoke(
        neurothek.main, ["ingest", str(folder / "tiny"), "--job", "shortcuts", *text, *arguments]
    )
    assert answer.exit_code == 2
    assert sentence in answer.stderr
    assert "Traceback" not in answer.output
    assert not (tmp_path / "w.duckdb").exists()


def test_one_method_alone_leaves_the_other_out(tmp_path: Path, folder: Path, asked: IngestRequest) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, folder / "tiny", dataclasses.replace(asked, methods=("id",)))
    assert set(ingests.table(warehouse, "shortcut_readings")["method"]) == {"id"}
    assert set(ingests.table(warehouse, "shortcuts")["method"]) == {"id"}
    assert not warehouse.maps.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "mta"], "there is no shortcut mta; did you mean mat?"),
        (["--domain", "math"], "the corpus prose has no domain math; it has prose"),
        (["--corpus", "few"], "takes at least 8, but few of the corpus few has 3"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    options: list[str], said: str, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "few.txt").write_text("The school is near. It is old. It has a roof.")
    corpus = f"few={tmp_path / 'few.txt'}" if "--corpus" in options else f"prose={folder / 'prose'}"
    asked = [] if "--corpus" in options else options
    path = tmp_path / "w.duckdb"
    command = ["ingest", str(folder / "tiny"), "--job", "shortcuts", "--corpus", corpus, "--warehouse", str(path)]
    answer = CliRunner().invoke(neurothek.main, [*command, *asked], catch_exceptions=False)
    assert (answer.exit_code, answer.stdout) == (2, "")
    (sentence, *_) = answer.stderr.strip().splitlines()
    assert said in sentence
    assert not path.exists()


def test_a_method_that_gives_no_finite_prediction_is_named_with_what_to_do(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Maps in place of parts stand in many blocks, one after the other: on few sentences these were seen to overflow.
    possible = fitting.SubModuleMaps.substitutes

    def overflowing(maps: fitting.SubModuleMaps, method: str, *sentences: Any, batch_tokens: int) -> torch.Tensor:
        states = possible(maps, method, *sentences, batch_tokens=batch_tokens)
        return states.index_fill(0, torch.tensor([1]), torch.nan) if method == "mat_ffn" else states

    monkeypatch.setattr(fitting.SubModuleMaps, "substitutes", overflowing)
    path = tmp_path / "w.duckdb"
    text = ["--corpus", f"prose={folder / 'prose'}", "--warehouse", str(path)]
    answer = CliRunner().invoke(neurothek.main, ["ingest", str(folder / "tiny"), "--job", "shortcuts", *text])
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "the method mat_ffn from state 1 gives no finite prediction" in answer.stderr
    assert "--method id --method mat" in answer.stderr
    assert not path.exists()


def test_a_model_of_one_layer_and_few_sentences_runs_and_is_warned_of(tmp_path: Path) -> None:
    model = build(tmp_path / "one", "gpt2", n_layers=1, d_model=32)
    path = tmp_path / "w.duckdb"
    command = ["ingest", str(model), "--job", "exits", "--no-baselines", "--corpus", write_sentences(tmp_path, n=24)]
    answer = CliRunner().invoke(neurothek.main, [*command, "--warehouse", str(path)], catch_exceptions=False)
    assert answer.exit_code == 0, answer.stderr
    assert "1 of 1 states span fewer directions in these sentences than the 32 of the model" in answer.stderr
    warehouse = ingests.open_warehouse(path)
    assert check(warehouse) == []
    assert ingests.table(warehouse, "shortcuts").height == 2
    assert set(ingests.table(warehouse, "exits")["layers_run"]) <= {0.0, 1.0}
