"""The command and the answer `trace`: joined with the catalog, readable, and refused in one sentence."""

import json
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import NotFound
from neurothek.ingest.trace import open_models
from neurothek.ingest.trace.open_models import OpenModel, OpenModels, _opened
from neurothek.queries.trace.trace import LAYER_COLUMNS, NEURON_COLUMNS, STATE_COLUMNS
from tests.support import ingests
from tests.support.models import build
from tests.support.shortcuts import write_sentences

# One worker measures the warehouse.
pytestmark = pytest.mark.xdist_group("trace")

PROMPT = "one two three"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    folder = tmp_path_factory.mktemp("trace")
    build(folder / "tiny", "opt", d_ffn=32)
    (folder / "words.txt").write_text("one two three four five six school " * 20)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    asked = ingests.request((f"words={folder / 'words.txt'}",), jobs=("projections", "activity"))
    ingests.measure(warehouse, folder / "tiny", asked)
    return neurothek.open(folder / "w.duckdb")


@pytest.fixture(scope="module")
def with_matrices(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    """A model with shortcuts on one text, and without on another."""
    folder = tmp_path_factory.mktemp("lens")
    build(folder / "tiny", "opt", d_ffn=32)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    asked = ingests.request((write_sentences(folder, n=80),), jobs=("projections", "shortcuts"))
    ingests.measure(warehouse, folder / "tiny", asked)
    (folder / "words.txt").write_text("one two three four five six school " * 400)
    more = ingests.request((f"words={folder / 'words.txt'}",), jobs=("activity",))
    ingests.measure(warehouse, folder / "tiny", more)
    return neurothek.open(folder / "w.duckdb")


def run(door: Neurothek, *arguments: str, input: str | None = None) -> Result:  # noqa: A002 - as click's runner calls it
    command = [*arguments, "--warehouse", str(door.path)]
    return CliRunner().invoke(neurothek.main, command, input=input, catch_exceptions=False, env={"COLUMNS": "200"})


def test_neurons_come_with_what_the_catalog_says(door: Neurothek) -> None:
    page = door.trace("tiny", PROMPT, token="·school")
    assert dict(page.layers.schema) == dict(LAYER_COLUMNS)
    assert dict(page.neurons.schema) == dict(NEURON_COLUMNS)
    known = door.sql("select address, top_tokens, frequency from neurons")
    joined = page.neurons.join(known, on="address", suffix="_known")
    assert joined.height == page.neurons.height == 20
    assert joined["frequency"].equals(joined["frequency_known"].rename("frequency"))
    assert joined["top_tokens"].to_list() == joined["top_tokens_known"].to_list()
    assert page.neurons["score_token"].null_count() == 0
    assert page.layers["token_rank_after"].null_count() == 0
    assert page.final in str(page.layers["after"][-1][0])


def test_top_sets_how_many_tokens_are_shown(door: Neurothek) -> None:
    page = door.trace("tiny", PROMPT, top=3)
    assert page.layers["before"].list.len().to_list() == page.layers["after"].list.len().to_list() == [3, 3]


def test_the_lens_mat_reads_states_through_the_kept_matrices(with_matrices: Neurothek) -> None:
    page = with_matrices.trace("tiny", PROMPT, lens="mat", corpus="prose", token="·school")
    assert dict(page.states.schema) == dict(STATE_COLUMNS)
    assert page.states.height == 2 * 3
    first_by_id, first_by_mat = page.states.filter(state=0).sort("method").to_dicts()
    assert first_by_id["probabilities"] != first_by_mat["probabilities"]
    by_id, by_mat = page.states.filter(state=2).drop("method").to_dicts()
    assert by_id == by_mat
    assert by_mat["final_rank"] == 1
    assert by_mat["tokens"][0] == page.final
    shown = run(with_matrices, "trace", "tiny", PROMPT, "--lens", "mat", "--corpus", "prose", "--token", "·school")
    for text in ("states", "tokens by mat", "rank by id", "rank of ·school"):
        assert text in shown.stdout
    said = json.loads(
        run(with_matrices, "trace", "tiny", PROMPT, "--lens", "mat", "--corpus", "prose", "--format", "json").stdout
    )
    assert len(said["states"]) == 6
    usual = with_matrices.trace("tiny", PROMPT)
    assert usual.states.is_empty()
    assert "states" not in usual.data()
    assert usual.layers.equals(with_matrices.trace("tiny", PROMPT, lens="mat", corpus="prose").layers)


def test_matrices_that_are_not_there_are_asked_for_in_one_sentence(with_matrices: Neurothek, door: Neurothek) -> None:
    never = run(door, "trace", "tiny", PROMPT, "--lens", "mat")
    elsewhere = run(with_matrices, "trace", "tiny", PROMPT, "--lens", "mat")
    (gone,) = with_matrices.warehouse.maps.rglob("0001-*.safetensors")
    kept = gone.read_bytes()
    gone.unlink()
    missing = run(with_matrices, "trace", "tiny", PROMPT, "--lens", "mat", "--corpus", "prose")
    gone.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    changed = run(with_matrices, "trace", "tiny", PROMPT, "--lens", "mat", "--corpus", "prose")
    gone.write_bytes(kept)
    for answer, text in (
        (never, "tiny has no stored shortcuts; measure them with `neurothek ingest tiny --job shortcuts --warehouse "),
        (elsewhere, "tiny has no stored shortcuts on words; they were measured on prose: select that corpus"),
        (missing, "or recreate it with `neurothek ingest"),
        (changed, "is not the stored matrix"),
    ):
        assert (answer.exit_code, answer.stdout) == (2, "")
        assert text in answer.stderr
        assert len(answer.stderr.strip().splitlines()) == 1


def test_people_read_tables_and_programs_json(door: Neurothek) -> None:
    shown = run(door, "trace", "tiny", PROMPT, "--token", "·school")
    assert shown.exit_code == 0
    for text in ("tiny at position 3 (0 to 3)", "layers", "dominant neurons", "rank of ·school", "saturation"):
        assert text in shown.stdout
    said = json.loads(run(door, "trace", "tiny", PROMPT, "--position", "1", "--format", "json").stdout)
    assert said["trace"]["position"] == 1
    assert len(said["trace"]["tokens"]) == 4
    assert [row["layer"] for row in said["layers"]] == [0, 1]
    assert len(said["neurons"]) == 20
    csv = run(door, "trace", "tiny", PROMPT, "--format", "csv").stdout
    assert csv.splitlines()[0].startswith("layer,")


def test_the_answer_shows_itself_in_notebooks(door: Neurothek) -> None:
    page = door.trace("tiny", PROMPT)
    assert "dominant neurons" in repr(page)
    assert "<table" in page._repr_html_()
    assert isinstance(page.data()["layers"], pl.DataFrame)


def test_what_does_not_exist_is_refused(door: Neurothek) -> None:
    with pytest.raises(NotFound, match="there is no model tinny"):
        door.trace("tinny", PROMPT)
    with pytest.raises(NotFound):
        door.trace("tiny", PROMPT, token="zzzzzz")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tinny", PROMPT), "there is no model tinny"),
        (("tiny", ""), "has no tokens"),
        (("tiny", "one " * 100), "but the model reads at most 64"),
        (("tiny", PROMPT, "--position", "9"), "there is no position 9"),
        (("tiny", PROMPT, "--token", "zzzzzz"), "zzzzzz"),
        (("tiny", PROMPT, "--weights", "/nowhere/at/all"), "not usable at '/nowhere/at/all'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(door: Neurothek, arguments: tuple[str, ...], said: str) -> None:
    result = run(door, "trace", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.strip().splitlines()) == 1


def test_prompts_line_by_line_are_answered_as_each_is_alone(door: Neurothek) -> None:
    lines = f"{PROMPT}\n\n three\r\nnine {'one ' * 100}\n"
    asked = ["trace", "tiny", "one two", "--interactive", "--format", "json"]
    shown = run(door, *asked, input=lines)
    alone = [run(door, "trace", "tiny", prompt, "--format", "json").stdout for prompt in ("one two", PROMPT, " three")]
    assert shown.stdout == "".join(alone)
    assert "but the model reads at most 64" in shown.stderr
    assert shown.exit_code == 2
    tables = run(door, "trace", "tiny", "-i", input=PROMPT)
    assert (tables.exit_code, tables.stdout) == (0, run(door, "trace", "tiny", PROMPT).stdout)


def test_weights_are_read_once_for_all_prompts(door: Neurothek, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "OPEN_MODELS", OpenModels())
    n_opened = 0

    def counted(*arguments: Any, **options: Any) -> OpenModel:
        nonlocal n_opened
        n_opened += 1
        return _opened(*arguments, **options)

    monkeypatch.setattr(open_models, "_opened", counted)
    assert run(door, "trace", "tiny", "-i", input=f"{PROMPT}\none two\n").exit_code == 0
    assert n_opened == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tinny", "--interactive"), "there is no model tinny"),
        (("tiny", "--interactive", "--weights", "/nowhere/at/all"), "not usable at '/nowhere/at/all'"),
        (("tiny", "--interactive", "--format", "csv"), "--interactive prints tables or json, not csv"),
        (("tiny", "--interactive", "--token", "xyzzy"), "no token is exactly 'xyzzy'"),
        (("tiny", "--interactive", "--toward", "xyzzy"), "no token is exactly 'xyzzy'"),
        (("tiny", "--interactive", "--toward", "·one", "--instead", "xyzzy"), "no token is exactly 'xyzzy'"),
        (("tiny",), "--interactive reads prompts line by line"),
    ],
)
def test_what_no_prompt_can_mend_is_refused_before_the_first(
    door: Neurothek, arguments: tuple[str, ...], message: str
) -> None:
    result = run(door, "trace", *arguments, input=PROMPT)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count(message) == 1
