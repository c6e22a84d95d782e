"""Models that others trained: a step of the hub, no positions, what a person says; and the figures that they make."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from huggingface_hub import constants

import neurothek
from neurothek.catalog.problems import Invalid, Unavailable
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import label
from neurothek.catalog.upkeep.checks import check
from neurothek.dashboards.papers.reproduced import figures_of_comparison
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import model_name, split_revision
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.runs.records import model_record
from tests.support import ingests
from tests.support.hub import COMMIT, Hub, commit_of, serve
from tests.support.models import build, edit_config

# One worker measures them once.
pytestmark = pytest.mark.xdist_group("variants")

REPO = "org/pythia-3m"
# Of eight ids each: a hundred full sequences and more, without which nothing is said of positions.
TEXT = {"sequence_length": 8, "tokens_per_domain": 2_000}
JOBS = ("projections", "activity", "contexts", "positions")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three steps of one training, and its end."""
    folder = tmp_path_factory.mktemp("trained")
    names = {"main": 3, "step1000": 1, "step4000": 2, "step143000": 3}
    return {name: build(folder / name, "neox", seed=seed, d_ffn=8) for name, seed in names.items()}


@pytest.fixture(scope="module")
def online(trained: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    branches = {name: place for name, place in trained.items() if name != "main"}
    with pytest.MonkeyPatch.context() as patch, serve(REPO, trained["main"], branches) as server:
        patch.setattr(constants, "HF_HUB_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(constants, "ENDPOINT", server.url)
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield server


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("text")
    (folder / "long.txt").write_text("\n".join([ingests.long_document()] * 8))
    return (f"long={folder / 'long.txt'}",)


def run(path: Path, *arguments: str | Path) -> Result:
    asked = [str(part) for part in arguments]
    return CliRunner().invoke(neurothek.main, [*asked, "--warehouse", str(path)], catch_exceptions=False)


def labels(path: Path) -> dict[str, tuple[str, str | None]]:
    rows = neurothek.open(path).sql("select model, family, variant from models order by model")
    return {model: (family, variant) for model, family, variant in rows.iter_rows()}


def found(folder: Path | str, **said: str) -> tuple[str, str | None]:
    checkpoint = find(str(folder))
    record = model_record(checkpoint, open_transformer(checkpoint).shape, load(checkpoint.folder), **said)
    return record.row.item(0, "family"), record.row.item(0, "variant")


def test_a_revision_may_stand_behind_the_repository(tmp_path: Path) -> None:
    assert split_revision("org/pythia-70m@step1000") == ("org/pythia-70m", "step1000")
    assert split_revision("gpt2@main", "main") == ("gpt2", "main")
    assert model_name("org/pythia-70m@step1000") == "pythia-70m@step1000"
    for path in ("./a@b", "/x/pythia@step1000", "org/x@"):
        assert split_revision(path, "v1") == (path, "v1")
    with pytest.raises(Invalid, match="but --revision 'step2' was given too; give only one"):
        split_revision("org/x@step1", "step2")


def test_a_folder_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "tiny-3m@step7", "opt", d_ffn=8)
    assert split_revision("tiny-3m@step7") == ("tiny-3m@step7", None)
    assert found("tiny-3m@step7") == ("tiny", None)


def test_a_step_of_the_hub_is_a_variant_and_the_last_one_is_not(online: Hub) -> None:
    assert found(REPO) == found(f"{REPO}@main") == ("pythia", None)
    assert found(f"{REPO}@step143000") == ("pythia", None)
    assert found(f"{REPO}@step1000") == ("pythia", "step 1000")
    assert found(f"{REPO}@step1000", variant="plain") == ("pythia", None)
    assert found(f"{REPO}@step1000", variant="seed 3", family="other") == ("other", "seed 3")
    checkpoint = find(f"{REPO}@step1000", name="early")
    assert (checkpoint.name, checkpoint.source) == ("early", REPO)
    assert checkpoint.revision == commit_of("step1000") != COMMIT
    with pytest.raises(Unavailable, match="it has no revision 'step9'"):
        find(f"{REPO}@step9")


def test_a_seed_at_the_end_of_a_name_is_a_variant(tmp_path: Path) -> None:
    folder = build(tmp_path / "pythia-14m-seed1", "neox", d_ffn=8)
    assert found(folder) == ("pythia", "seed 1")
    assert found(folder, variant="plain") == ("pythia", None)
    assert found(edit_config(folder, neurothek={"family": "mini"})) == ("mini", None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("multiberts-seed_0", ("multiberts", "seed 0")),
        ("pythia-160m-data-seed3", ("pythia", "seed 3")),
        ("GPT2-Small-SEED12", ("GPT2", "seed 12")),
        ("seed1", ("seed1", None)),
        ("linseed1", ("linseed1", None)),
        ("bert-seed_0-old", ("bert-seed_0-old", None)),
    ],
)
def test_other_names_say_their_seed_or_none(
    name: str, expected: tuple[str, str | None], tiny_models: dict[str, Path]
) -> None:
    checkpoint = find(str(tiny_models["opt"]), name=name)
    row = model_record(checkpoint, open_transformer(checkpoint).shape, load(checkpoint.folder)).row
    assert (row.item(0, "family"), row.item(0, "variant")) == expected


def test_steps_of_another_seed_are_a_family_with_it(online: Hub) -> None:
    for revision, expected in (("step1000", ("pythia-seed2", "step 1000")), ("step143000", ("pythia", "seed 2"))):
        checkpoint = replace(find(f"{REPO}@{revision}"), source=f"{REPO}-seed2")
        row = model_record(checkpoint, open_transformer(checkpoint).shape, load(checkpoint.folder)).row
        assert (row.item(0, "family"), row.item(0, "variant")) == expected


def test_no_positions_are_a_variant_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    folder = build(tmp_path / "opt-3m", "opt", positions=False, d_ffn=8)
    assert found(folder) == ("opt", "no-position")
    assert found(folder, variant="plain") == ("opt", None)
    assert found(edit_config(folder, neurothek={"training_tokens": 5})) == ("opt", "no-position")
    assert found(edit_config(folder, neurothek={"family": "mini", "variant": None})) == ("mini", None)
    assert found(edit_config(folder, neurothek={"family": "mini", "variant": "step 5"})) == ("mini", "step 5")
    other = edit_config(folder, neurothek={"variant": 5})
    with pytest.raises(Invalid, match=r"has the invalid variant 5 under neurothek; .* --variant$"):
        found(other)
    assert found(other, variant="seed 1") == ("opt", "seed 1")
    for value in ([1], "mini"):
        with pytest.raises(Invalid, match="under neurothek, which is no object; write one"):
            found(edit_config(folder, neurothek=value))


def test_what_is_malformed_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with pytest.raises(Invalid, match="is not a model variant"):
        neurothek.open(path).ingest("no/such", variant="midway")
    with pytest.raises(Invalid, match="a family of models cannot be named"):
        neurothek.open(path).ingest("no/such", family="a b")
    refused = run(path, "ingest", "no/such", "--variant", "step minus one")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "Error: 'step minus one' is not a model variant; write 'step 1000', 'seed 2', 'Q4_1', no-position or post-norm,"
        " or plain for none; a model that differs in any other way belongs to another family\n"
    )
    assert not path.exists()


@pytest.fixture(scope="module")
def measured(
    online: Hub, trained: dict[str, Path], text: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A warehouse of a repository and two of its steps, of a step as a folder, and of a model without positions."""
    folder = tmp_path_factory.mktemp("variants")
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for model in (f"{REPO}@step1000", f"late={REPO}@step4000", REPO):
        ingests.measure(warehouse, model, ingests.request(text, jobs=JOBS, text=TEXT))
    asked = ingests.request(text, jobs=JOBS, text=TEXT, family="pythia", variant="step2000")
    ingests.measure(warehouse, f"mid={trained['step4000']}", asked)
    flat = build(folder / "flat", "neox", seed=9, d_ffn=8)
    ingests.measure(warehouse, f"flat={flat}", ingests.request(text, jobs=JOBS, text=TEXT))
    return warehouse.path


def copied(path: Path, to: Path) -> Path:
    to.write_bytes(path.read_bytes())
    return to


def test_models_count_as_what_they_are(measured: Path) -> None:
    assert labels(measured) == {
        "pythia-3m@step1000": ("pythia", "step 1000"),
        "late": ("pythia", "step 4000"),
        "pythia-3m": ("pythia", None),
        "mid": ("pythia", "step 2000"),
        "flat": ("flat", None),
    }
    why_not = neurothek.open(measured).sql("select model, comparable, why_not from scaling")
    assert why_not.filter(comparable=False).is_empty()


def test_a_name_of_the_warehouse_stays_what_it_is(measured: Path, tmp_path: Path, text: tuple[str, ...]) -> None:
    path = copied(measured, tmp_path / "w.duckdb")
    for name in ("pythia-3m@step1000", "late"):
        report = ingests.measure(ingests.open_warehouse(path), name, ingests.request(text, jobs=("projections",)))
        assert (report.model, report.up_to_date) == (name, ("projections",))
    assert labels(path) == labels(measured)


def titles(path: Path, number: int) -> list[str]:
    """The models of a figure's panels, in their order."""
    with Warehouse(path).reader() as connection:
        figures = figures_of_comparison(connection, neurothek.open(path).compare())
    (figure,) = [one for one in figures if one.picture.title == f"figure {number}"]
    assert figure.chart is not None, figure.why_not
    drawn = figure.chart.to_dict()
    parts = drawn.get("hconcat", drawn.get("concat", [drawn]))
    return [part["title"]["text"] for part in parts]


def test_figures_10_and_11_are_of_anybodys_checkpoints(measured: Path, tmp_path: Path) -> None:
    assert titles(measured, 11) == ["pythia-3m@step1000", "mid", "late", "pythia-3m"]
    path = copied(measured, tmp_path / "w.duckdb")
    neurothek.open(path).label("flat", family="pythia", variant="no-position")
    assert titles(path, 10) == ["pythia-3m", "flat"]
    assert titles(path, 11) == ["pythia-3m@step1000", "mid", "late", "pythia-3m"]


def test_two_that_nothing_tells_apart_are_not_compared(measured: Path, tmp_path: Path) -> None:
    path = copied(measured, tmp_path / "w.duckdb")
    labelled = run(path, "label", "mid", "--variant", "plain")
    assert (labelled.exit_code, labelled.stderr) == (0, "mid is a plain size of pythia\n")
    told = "is of the same family and size, and no variant tells them apart (set one with neurothek label)"
    view = neurothek.open(path).sql("select model, why_not from scaling where not comparable order by model")
    assert view.rows() == [("mid", f"pythia-3m {told}"), ("pythia-3m", f"mid {told}")]
    assert neurothek.open(path).compare().why_not() == dict(view.rows())
    assert neurothek.open(path).compare("mid", "late").why_not() == {}
    assert list(check(Warehouse(path))) == []


def test_a_label_changes_what_is_kept_and_the_file_still_holds(measured: Path, tmp_path: Path) -> None:
    path = copied(measured, tmp_path / "w.duckdb")
    now = neurothek.open(path).label("mid", family="mine", variant="seed 2")
    assert (now.family, now.variant) == ("mine", "seed 2")
    for view in ("layer_activity", "positions_by_layer", "scaling", "models", "neurons"):
        rows = neurothek.open(path).sql(f"select distinct family, variant from {view} where model = 'mid'")
        assert rows.rows() == [("mine", "seed 2")], view
    assert list(check(Warehouse(path))) == []
    assert neurothek.open(path).label("mid", variant="plain").family == "mine"
    for wrong, sentence in (
        (("label", "midd", "--variant", "plain"), "Error: there is no model midd in the warehouse; did you mean mid"),
        (("label", "mid", "--family", "a b"), "Error: a family of models cannot be named 'a b'; use up to 200 letters"),
        (("label", "mid"), "Error: nothing to label; give --family NAME, --variant V or both"),
    ):
        refused = run(path, *wrong)
        assert refused.exit_code == 2
        assert refused.stderr.startswith(sentence)


def test_what_is_said_of_a_model_that_is_there_holds_for_it(
    measured: Path, text: tuple[str, ...], trained: dict[str, Path], tmp_path: Path
) -> None:
    path = copied(measured, tmp_path / "w.duckdb")
    options = ["--job", "projections", "--device", "cpu"]
    again = run(path, "ingest", f"mid={trained['step4000']}", *options)
    assert "counts as" not in again.stderr
    assert labels(path)["mid"] == ("pythia", "step 2000")
    said = run(path, "ingest", f"mid={trained['step4000']}", *options, "--variant", "step 3000")
    told = "mid: it counts as a variant (step 3000) of pythia; `neurothek label mid --variant plain"
    (line,) = [line for line in said.stderr.splitlines() if line.startswith(told)]
    assert line.endswith("` makes it a plain size")
    assert labels(path)["mid"] == ("pythia", "step 3000")
    assert run(path, *line.split("`")[1].split()[1:5]).exit_code == 0
    assert labels(path)["mid"] == ("pythia", None)


def test_one_option_holds_for_every_model_of_a_command(trained: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    models = [f"{name}-{size}={trained[step]}" for name, size, step in (("a", "1m", "main"), ("b", "2m", "step1000"))]
    said = ("--family", "pair", "--variant", "seed 2", "--job", "projections", "--device", "cpu")
    assert run(path, "ingest", *models, *said).exit_code == 0
    assert labels(path) == {"a-1m": ("pair", "seed 2"), "b-2m": ("pair", "seed 2")}


@pytest.mark.long
def test_labels_are_exported_and_imported(measured: Path, tmp_path: Path) -> None:
    assert run(measured, "export", tmp_path / "out").exit_code == 0
    assert run(tmp_path / "new.duckdb", "import", tmp_path / "out").exit_code == 0
    assert labels(tmp_path / "new.duckdb") == labels(measured)


@pytest.mark.long
def test_a_merge_keeps_what_is_said_here_and_tells_what_is_said_there(measured: Path, tmp_path: Path) -> None:
    ours, theirs = copied(measured, tmp_path / "ours.duckdb"), copied(measured, tmp_path / "theirs.duckdb")
    label(Warehouse(theirs), "mid", variant="seed 2")
    label(Warehouse(theirs), "flat", family="theirs", variant="step 7")
    before = labels(ours)
    merged = run(ours, "merge", theirs)
    assert merged.exit_code == 0, merged.stderr
    assert labels(ours) == before
    for line in (
        f"{theirs} labels mid as a variant (seed 2) of pythia, which was not adopted; use"
        f" `neurothek label mid --family pythia --variant 'seed 2' --warehouse {ours}` to adopt it",
        f"{theirs} labels flat as a variant (step 7) of theirs, which was not adopted; use"
        f" `neurothek label flat --family theirs --variant 'step 7' --warehouse {ours}` to adopt it",
    ):
        assert line in merged.stderr.splitlines()
    assert run(tmp_path / "new.duckdb", "merge", theirs).exit_code == 0
    assert labels(tmp_path / "new.duckdb") == labels(theirs)


SHIPPED = ("mini-opt-2m", "mini-opt-2m-nopos", "mini-opt-0.7m-postnorm", "mini-opt-2m-step250")


def test_what_neurothek_trained_says_its_own() -> None:
    assert [found(name) for name in SHIPPED] == [
        ("mini-opt", None),
        ("mini-opt", "no-position"),
        ("mini-opt", "post-norm"),
        ("mini-opt", "step 250"),
    ]
