"""What each form of a catalog becomes, where it goes from there, and what the command says."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek import Neurothek
from neurothek.catalog.exchange.exports import export
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.foreign import FOREIGN
from neurothek.catalog.tables.registry import ALL
from neurothek.queries.views import install
from tests.support.foreign import (
    explanation,
    feature,
    glu_row,
    measured_features,
    write_gluscope,
    write_lines,
    write_neuronpedia,
    write_openai,
)


def run(door: Neurothek, *arguments: str) -> Result:
    return CliRunner().invoke(neurothek.main, [*arguments, "--warehouse", str(door.path)])


def counts(door: Neurothek) -> dict[str, int]:
    return {table.name: door.sql(f"select count(*) as n from store.{table.name}").item() for table in FOREIGN}


@pytest.fixture
def exported(door: Neurothek, tmp_path: Path) -> Path:
    """An export of Neuronpedia of the model `plain`, with explanations of three neurons."""
    lines = measured_features(door, "plain")[:60]
    words = [
        explanation("plain", 0, 0, "names of months"),
        explanation("plain", 0, 0, "months, again", typeName="np_max-act-logits", explanationModelName="gemini"),
        explanation("plain", 0, 5, "rivers"),
        explanation("plain", 1, 47, "no feature of it, and words all the same", typeName=None),
        explanation("plain", 0, 6, "  "),
    ]
    return write_neuronpedia(tmp_path / "v1" / "plain", "plain", lines, words, shape=(2, 48))


def test_an_export_of_neuronpedia(door: Neurothek, exported: Path) -> None:
    imported = door.import_foreign(exported, "neuronpedia")
    assert (imported.n_neurons, imported.n_explanations, imported.kind) == (61, 4, "neuronpedia")
    assert imported.n_tokens == 60 * 20 >= imported.n_matched > 600
    rows = door.sql("select * from foreign_explanations order by layer, neuron, number").to_dicts()
    told = [(row["address"], row["number"], row["foreign_explanation"], row["foreign_explainer"]) for row in rows]
    assert told == [
        ("plain/L0N0", 1, "names of months", "gpt-4o-mini"),
        ("plain/L0N0", 2, "months, again", "gemini"),
        ("plain/L0N5", 1, "rivers", "gpt-4o-mini"),
        ("plain/L1N47", 1, "no feature of it, and words all the same", "gpt-4o-mini"),
    ]
    assert [row["foreign_method"] for row in rows][:2] == ["oai_token-act-pair", "np_max-act-logits"]
    assert {(row["foreign_score"], row["score_name"]) for row in rows} == {(None, None)}
    (row,) = door.sql("select * from foreign_neurons where address = 'plain/L1N47'").to_dicts()
    assert (row["foreign_promoted"], row["foreign_frequency"], row["n_explanations"]) == ([], None, 1)
    (row,) = door.sql("select * from foreign_catalogs").to_dicts()
    assert (row["n_explained"], row["source"], row["catalog"]) == (3, str(exported), imported.catalog)
    assert "Measured on a/pile." in row["method"]
    assert door.check().passed


def test_one_source_alone_packed_or_not_is_the_same_neurons(door: Neurothek, tmp_path: Path) -> None:
    lines = [feature("plain", 1, n, pos_str=[" the"], maxActApprox=float(n)) for n in range(9)]
    folders = [write_neuronpedia(tmp_path / str(packed), "plain", lines, packed=packed) for packed in (True, False)]
    names = {door.import_foreign(folder / "1", "neuronpedia").catalog for folder in folders}
    rows = door.sql("select * exclude (catalog) from foreign_neurons order by neuron, catalog").rows()
    assert len(names) == 2
    assert rows[0::2] == rows[1::2]
    assert [row[6] for row in rows[0::2]] == [None, *map(float, range(1, 9))]


def test_the_data_of_the_neuron_explainer(door: Neurothek, tmp_path: Path) -> None:
    write_openai(
        tmp_path / "data",
        0,
        7,
        explanations=[("words about ships", 0.25), ("the sea", None)],
        excerpts=[[0.5, 2.5], [1.0, None], []],
        promoted=[" the", " of"],
        suppressed=["a"],
    )
    write_openai(tmp_path / "data", 1, 10, excerpts=[[-3.0]])
    write_openai(tmp_path / "data", 1, 9, promoted=[], suppressed=[])
    imported = door.import_foreign(tmp_path / "data", "openai", model="plain")
    assert (imported.n_neurons, imported.n_explanations, imported.their_model) == (3, 2, None)
    rows = door.sql("select * from foreign_neurons order by layer, neuron").to_dicts()
    assert [(row["address"], row["foreign_max_activation"]) for row in rows] == [
        ("plain/L0N7", 2.5),
        ("plain/L1N9", None),
        ("plain/L1N10", -3.0),
    ]
    assert (rows[0]["foreign_promoted"], rows[0]["foreign_suppressed"]) == ([" the", " of"], ["a"])
    words = door.sql("select foreign_explanation, foreign_score, score_name from foreign_explanations order by number")
    assert words.rows() == [("words about ships", 0.25, "ev_correlation_score"), ("the sea", None, None)]
    assert door.check().passed


def test_a_dataset_of_gluscope(door: Neurothek, tmp_path: Path) -> None:
    folder = tmp_path / "gated_neuron-activations"
    rows = [
        glu_row(0, 3, (0.25, 0.125, 0.5, 0.125), (2.0, -7.0, -0.25, 0.5)),
        glu_row(1, 0, (0, 0, 0.5, 0.5), (0, 0, 0, 0)),
    ]
    imported = door.import_foreign(write_gluscope(folder, rows), "gluscope")
    assert (imported.model, imported.their_model, imported.n_neurons, imported.n_tokens) == ("gated", "gated", 2, 0)
    said = door.sql("select * from foreign_agreement order by layer").to_dicts()
    assert [row["foreign_frequency"] for row in said] == [0.375, 0.0]
    assert {(row["foreign_active_when"], row["is_same_rule"], row["foreign_positions"]) for row in said} == {
        ("gate > 0", True, "all")
    }
    largest = door.sql("select foreign_max_activation from foreign_neurons order by layer")["foreign_max_activation"]
    assert largest.to_list() == [-7.0, 0.0]
    assert door.check().passed


def test_the_largest_activation_is_found_in_any_order(door: Neurothek, tmp_path: Path) -> None:
    """Lists that rise, fall, have other signs, no finite number or nothing at all."""
    lists: list[list[list[float | None]]] = [
        [[0.5, 3.0, 1.0], [0.0], [0.25, 0.5], []],
        [[2.0, 1.0], [-1.0, -9.0, 8.0], [3.0], [0.0]],
        [[float("nan"), 1.5, None], [float("inf"), -0.5], [float("-inf")], []],
        [[], [], [], [float("nan")]],
    ]
    rows = []
    for neuron, values in enumerate(lists):
        row = glu_row(0, neuron, (0.25, 0.25, 0.25, 0.25), (0, 0, 0, 0))
        names = [name for name in row if name.endswith("_hook_post_max_values")]
        rows.append(row | dict(zip(names, values, strict=True)))
    door.import_foreign(write_gluscope(tmp_path / "v", rows), "gluscope", model="gated")
    largest = door.sql("select foreign_max_activation from foreign_neurons order by neuron")["foreign_max_activation"]
    assert largest.to_list() == [3.0, -9.0, 1.5, None]


def test_explanations_alone_are_a_catalog(door: Neurothek, tmp_path: Path) -> None:
    words = [explanation("plain", 0, 3, "rivers"), explanation("plain", 1, 4, "lakes")]
    write_lines(tmp_path / "v1" / "explanations" / "batch-0.jsonl", words)
    imported = door.import_foreign(tmp_path / "v1", "neuronpedia")
    assert (imported.n_neurons, imported.n_explanations) == (2, 2)
    said = door.sql("select address, foreign_explanation from foreign_explanations order by address").rows()
    assert said == [("plain/L0N3", "rivers"), ("plain/L1N4", "lakes")]
    assert door.sql("select n_neurons from store.foreign_catalogs").item() == 2
    assert door.check().passed
    write_lines(tmp_path / "v2" / "explanations" / "batch-0.jsonl", [explanation("plain", 0, 3, " ")])
    with pytest.raises(NeurothekError, match="there is no neuron in it"):
        door.import_foreign(tmp_path / "v2", "neuronpedia")


def test_the_page_of_a_neuron_tells_whose_words_they_are(door: Neurothek, exported: Path) -> None:
    assert door.neuron("plain/L0N0").foreign.is_empty()
    imported = door.import_foreign(exported, "neuronpedia")
    page = door.neuron("plain/L0N0")
    assert page.foreign["foreign_explanation"].to_list() == ["names of months", "months, again"]
    assert page.foreign["catalog"].unique().to_list() == [imported.catalog]
    printed = run(door, "neuron", "plain/L0N0").stdout
    names = "“names of months” (gpt-4o-mini); “months, again” (gemini)"
    assert f"other people's catalog {imported.catalog}: {names}" in printed.replace("\n", " ")
    assert f"{page.foreign['n_shared'][0]} of 20" in printed
    assert door.neuron("plain/L1N40").foreign.is_empty()
    assert "other people" not in run(door, "neuron", "plain/L1N40").stdout


def test_the_command(door: Neurothek, exported: Path, tmp_path: Path) -> None:
    answer = run(door, "import", str(exported), "--from", "neuronpedia")
    assert answer.exit_code == 0, answer.stderr
    assert "imported 61 neurons and 4 explanations of plain, " in answer.stderr
    assert "neurothek sql 'from foreign_catalogs'" in answer.stderr
    again = run(door, "import", str(exported), "--from", "neuronpedia")
    assert (again.exit_code, "is in the warehouse already: 61 neurons of plain" in again.stderr) == (0, True)
    assert counts(door) == {"foreign_catalogs": 1, "foreign_neurons": 61, "foreign_explanations": 4}
    named = run(door, "import", str(exported), "--from", "neuronpedia", "--model", "gated")
    assert (named.exit_code, "of gated" in named.stderr) == (0, True)
    for arguments, sentence in (
        (("--from", "neuron-lens"), "catalogs of neuron-lens are not read: no description of its files was found"),
        (("--from", "gluscope"), "it has no Parquet files"),
        (("--from", "neuroscope"), "'neuroscope' is not one of 'neuronpedia', 'gluscope', 'openai', 'neuron-lens'"),
        (("--model", "plain"), "--model goes with --from"),
        (("--from", "openai", "--model", "none"), "it has none of the folders explanations"),
    ):
        answer = run(door, "import", str(exported), *arguments)
        assert (answer.exit_code, answer.stdout) == (2, "")
        assert sentence in answer.stderr.replace("\n", " "), answer.stderr
    missing = run(door, "import", str(tmp_path / "none"), "--from", "openai", "--model", "plain")
    assert (missing.exit_code, "is not there; name the folder of a catalog of openai" in missing.stderr) == (2, True)
    new = CliRunner().invoke(
        neurothek.main,
        ["import", str(exported), "--from", "neuronpedia", "--warehouse", str(tmp_path / "new.duckdb")],
    )
    assert (new.exit_code, (tmp_path / "new.duckdb").exists()) == (2, False)


def test_catalogs_go_with_their_model_and_travel_with_it(
    door: Neurothek, two_models: Path, exported: Path, tmp_path: Path
) -> None:
    imported = door.import_foreign(exported, "neuronpedia")
    rows = door.sql("select * from foreign_agreement order by all").rows()
    words = door.sql("select * from foreign_explanations order by all").rows()
    export(door.warehouse, tmp_path / "export")
    back = neurothek.open(tmp_path / "back.duckdb")
    back.import_(tmp_path / "export")
    merged = neurothek.open(shutil.copyfile(two_models, tmp_path / "merged.duckdb"))
    assert [merged.merge(door.path).n_foreign for _ in range(2)] == [1, 0]
    door.publish(to=tmp_path / "whole", with_texts=True)
    door.publish(to=tmp_path / "bare")
    for other in (back, merged, neurothek.open(tmp_path / "whole")):
        assert other.sql("select * from foreign_agreement order by all").rows() == rows
        assert other.sql("select * from foreign_explanations order by all").rows() == words
    bare = neurothek.open(tmp_path / "bare")
    assert bare.sql("select * from foreign_agreement order by all").rows() == rows
    assert bare.sql("select * from foreign_explanations").is_empty()
    assert bare.sql("select distinct foreign_promoted from foreign_neurons").rows() == [([],)]
    assert bare.sql("select source from foreign_catalogs").item() == "plain"
    copied = neurothek.open(tmp_path / "copied.duckdb")
    bare.copy(copied.path)
    assert copied.check().passed
    # Without it the same folder can be imported again, and is called the same.
    assert merged.import_foreign(exported, "neuronpedia").is_new is False
    deleted = merged.remove("plain")
    assert (deleted["foreign_catalogs"], deleted["foreign_neurons"], deleted["foreign_explanations"]) == (1, 61, 4)
    assert counts(merged) == dict.fromkeys(counts(merged), 0)
    assert merged.check().passed
    assert door.rename("plain", "other") is None
    assert door.sql("select distinct address like 'other/%' from foreign_neurons").rows() == [(True,)]
    assert imported.catalog in door.sql("select catalog from foreign_catalogs")["catalog"]


def test_one_catalog_is_removed_alone(door: Neurothek, exported: Path) -> None:
    imported = door.import_foreign(exported, "neuronpedia")
    before = door.sql("select count(*) as n from neurons").item()
    for arguments, sentence in (
        (
            ("--catalog", "neuronpedia-0"),
            f"there is no foreign catalog neuronpedia-0 of plain; nearest: {imported.catalog}",
        ),
        (("--catalog", imported.catalog, "--job", "activity"), "--catalog goes without --job and --corpus"),
    ):
        answer = run(door, "remove", "plain", *arguments)
        assert (answer.exit_code, sentence in answer.stderr) == (2, True), answer.stderr
    with pytest.raises(NeurothekError, match="a foreign catalog is of no job and no corpus"):
        door.remove("plain", job="activity", catalog=imported.catalog)
    answer = run(door, "remove", "plain", "--catalog", imported.catalog, "--yes")
    assert (answer.exit_code, "removed 66 rows of model plain, catalog neuronpedia-" in answer.stderr) == (0, True)
    assert set(counts(door).values()) == {0}
    assert door.sql("select count(*) as n from neurons").item() == before
    assert door.import_foreign(exported, "neuronpedia").is_new


def test_a_file_of_the_release_before_takes_them(two_models: Path, exported: Path, tmp_path: Path) -> None:
    """The tables come with the next opening for writing, and views say that there is nothing until then."""
    path = tmp_path / "old.duckdb"
    shutil.copyfile(two_models, path)
    with Warehouse(path, views=install).transaction() as connection:
        for table in (one for one in ALL if one.since >= FOREIGN[0].since):
            connection.execute(f"drop table store.{table.name} cascade")
        connection.execute("delete from store.schema_versions where version > 40")
        connection.execute("insert into store.schema_versions values (40, timestamp '2026-01-01')")
    door = neurothek.open(path)
    assert door.sql("select * from foreign_catalogs").is_empty()
    assert door.import_foreign(exported, "neuronpedia").is_new
    assert door.check().passed
