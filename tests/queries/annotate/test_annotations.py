"""Annotating: the sample tells nothing, what people send is judged line by line, and all of it is kept or nothing."""

import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.checks import broken, checks
from neurothek.queries.annotate.annotations import annotate
from neurothek.queries.annotate.lines import FIELDS
from neurothek.queries.annotate.sample import Sample, draw_sample
from neurothek.queries.views import install

MODEL = "tiny-2m"


@pytest.fixture(scope="module")
def unjudged(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The hand-made warehouse before anybody annotated; nothing is written to it."""
    path = tmp_path_factory.mktemp("unjudged") / "w.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from store.annotations")
    return Warehouse(path, views=install)


@pytest.fixture
def warehouse(unjudged: Warehouse, tmp_path: Path) -> Warehouse:
    """A copy to write to."""
    return Warehouse(Path(shutil.copy(unjudged.path, tmp_path / "w.duckdb")), views=install)


@pytest.fixture(scope="module")
def sample(unjudged: Warehouse) -> Sample:
    with unjudged.reader() as connection:
        return draw_sample(connection, MODEL)


def stored(warehouse: Warehouse) -> list[dict[str, Any]]:
    with warehouse.reader() as connection:
        return connection.sql("from store.annotations order by concept nulls first").to_dicts()


def run(warehouse: Warehouse, *arguments: str, text: str | bytes = "") -> Result:
    command = ["annotate", "--warehouse", str(warehouse.path), *arguments]
    return CliRunner().invoke(neurothek.main, command, input=text, catch_exceptions=False)


def concept(sample: Sample, number: int = 0, **fields: Any) -> dict[str, Any]:
    vector = sample.vectors[number]
    said = {"concept": "schools", "class": "semantic", "ranks": [1, 2, 3, 4], "annotator": "anna"}
    return {"model": MODEL, "vector": vector.handle} | said | fields


# The sample


def test_what_is_printed_tells_no_vector_from_another(unjudged: Warehouse, sample: Sample) -> None:
    for output in ("json", "csv", "table"):
        shown = run(unjudged, "--sample", MODEL, "--format", output).stdout
        assert not any(
            word in shown for word in ("L0N", "L1N", "L2N", "layer", "random", "ffn_update", "value", "kind")
        )
    rows = json.loads(run(unjudged, "--sample", MODEL, "--format", "json").stdout)
    assert [row["vector"] for row in rows] == [vector.handle for vector in sample.vectors]
    # Nothing but the order of the draw could tell, and that is by the handle.
    assert [row["vector"] for row in rows] == sorted(row["vector"] for row in rows)
    sheet = list(csv.reader(io.StringIO(run(unjudged, "--sample", MODEL, "--format", "csv").stdout)))
    assert sheet[0][:6] == ["model", "vector", "annotator", "concept", "class", "ranks"]
    # No cell of a token can be a formula.
    assert all(cell[:1].isdigit() for row in sheet[1:] for cell in row[6:] if cell)


def test_a_sample_leaves_out_what_was_judged(warehouse: Warehouse, sample: Sample) -> None:
    annotate(warehouse, [concept(sample), concept(sample, 1, concept=None, ranks=[], **{"class": None})])
    mine = json.loads(run(warehouse, "--sample", MODEL, "--annotator", "anna", "--format", "json").stdout)
    assert [row["vector"] for row in mine] == [vector.handle for vector in sample.vectors[2:]]
    assert (
        f"2 of {len(sample.vectors)} vectors were judged by anna"
        in run(warehouse, "--sample", MODEL, "--annotator", "anna").stderr
    )
    others = json.loads(run(warehouse, "--sample", MODEL, "--annotator", "ben", "--format", "json").stdout)
    assert len(others) == len(sample.vectors)


# Publishing


def test_lines_become_rows_of_their_vectors(warehouse: Warehouse, sample: Sample) -> None:
    lines = [
        concept(sample, 0),
        concept(sample, 0, concept="two", ranks=None, token_ids=list(reversed(sample.vectors[0].token_ids))),
        {"model": MODEL, "vector": sample.vectors[1].handle, "concept": None, "annotator": "anna"},
    ]
    text = "\n\n".join(json.dumps(line) for line in lines)
    answer = run(warehouse, "--stdin", text=text)
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert answer.stderr == "saved 3 annotations of 2 vectors\n"
    none, one, two = stored(warehouse)
    for row, vector in ((one, sample.vectors[0]), (two, sample.vectors[0]), (none, sample.vectors[1])):
        number = row["neuron"] if vector.key[0] == "value" else row["control_id"]
        assert (row["condition"], row["layer"], number) == vector.key
        assert (row["neuron"] is None) != (row["control_id"] is None)
        assert row["shown_token_ids"] == list(vector.token_ids)
        assert row["annotator"] == "anna"
    assert one["token_ids"] == list(sample.vectors[0].token_ids[:4])
    # Whatever the order in which they were marked.
    assert two["token_ids"] == list(sample.vectors[0].token_ids)
    assert (none["concept"], none["class"], none["token_ids"]) == (None, None, [])
    assert len({row["created_at"] for row in (none, one, two)}) == 1
    about_annotations = [one for one in checks() if "annotat" in one.name]
    with warehouse.reader() as connection:
        assert broken(connection, among=about_annotations, progress=Silent()) == []


def test_a_neuron_and_a_control_can_be_named_openly(warehouse: Warehouse) -> None:
    said = {"concept": "c", "class": "names", "annotator": "ben", "ranks": [1, 2, 3, 5]}
    annotate(
        warehouse,
        [
            {"address": f"{MODEL}/L2N3", **said},
            {"model": MODEL, "layer": 1, "neuron": 4, **said},
            {"model": MODEL, "layer": 0, "condition": "ffn_update", "control_id": 0, **said},
        ],
    )
    assert [(row["condition"], row["layer"], row["neuron"], row["control_id"]) for row in stored(warehouse)] == [
        ("value", 2, 3, None),
        ("value", 1, 4, None),
        ("ffn_update", 0, None, 0),
    ]


def test_a_judgement_replaces_the_same_persons_earlier_one(warehouse: Warehouse, sample: Sample) -> None:
    annotate(warehouse, [concept(sample), concept(sample, concept="two"), concept(sample, annotator="ben")])
    before = stored(warehouse)
    text = json.dumps(concept(sample, concept="other"))
    assert "in place of 2 earlier ones" in run(warehouse, "--stdin", text=text).stderr
    rows = stored(warehouse)
    assert [(row["annotator"], row["concept"]) for row in rows] == [("anna", "other"), ("ben", "schools")]
    assert rows[1] == next(row for row in before if row["annotator"] == "ben")


def test_publishing_again_changes_nothing_but_numbers_and_time(warehouse: Warehouse, sample: Sample) -> None:
    lines = [concept(sample), concept(sample, concept="two"), concept(sample, 3)]
    kept = []
    for _ in range(2):
        annotate(warehouse, lines)
        kept.append(
            [
                {name: row[name] for name in row if name not in ("annotation_id", "created_at")}
                for row in stored(warehouse)
            ]
        )
    assert kept[0] == kept[1]
    assert len(kept[0]) == 3


def test_the_sheet_goes_round(warehouse: Warehouse, sample: Sample) -> None:
    text = run(warehouse, "--sample", MODEL, "--annotator", "anna", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    rows[0] |= {"concept": "schools", "class": "semantic", "ranks": "1, 3-5"}
    rows[1] |= {"class": "none"}
    rows.insert(1, rows[0] | {"concept": "two", "ranks": "1 2 3 4 5"})
    for delimiter, mark in ((",", ""), (";", "\ufeff")):
        filled = io.StringIO()
        writer = csv.DictWriter(filled, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
        answer = run(warehouse, "--stdin", text=(mark + filled.getvalue()).encode())
        assert answer.exit_code == 0, answer.stderr
        found = [(row["concept"], row["class"], row["token_ids"]) for row in stored(warehouse)]
        ids = sample.vectors[0].token_ids
        assert found == [
            (None, None, []),
            ("schools", "semantic", [ids[rank - 1] for rank in (1, 3, 4, 5)]),
            ("two", "semantic", list(ids[:5])),
        ]


def test_python_annotates_as_the_command_does(warehouse: Warehouse, sample: Sample) -> None:
    saved = neurothek.open(warehouse.path).annotate([concept(sample, annotator=None)], annotator="ben")
    assert (saved.n_annotations, saved.n_vectors, saved.n_replaced) == (1, 1, 0)
    assert stored(warehouse)[0]["annotator"] == "ben"
    with pytest.raises(NeurothekError, match="annotation 2, ranks: 99 is not among the"):
        neurothek.open(warehouse.path).annotate([concept(sample), concept(sample, 1, ranks=[1, 2, 3, 99])])
    assert len(stored(warehouse)) == 1


# What cannot be saved

Change = Callable[[Sample], dict[str, Any] | str | bytes]


def changed(**fields: Any) -> Change:
    return lambda sample: concept(sample, 1, **fields)


def without(*names: str, **fields: Any) -> Change:
    return lambda sample: {key: value for key, value in concept(sample, 1, **fields).items() if key not in names}


def instead(*names: str, **fields: Any) -> Change:
    """The same annotation with its vector named in another way."""
    return lambda sample: {**without("vector", *names)(sample), **fields}  # type: ignore[dict-item]


BAD: dict[str, tuple[Change, str]] = {
    "no JSON": (lambda _: "{", "line 2 is not JSON"),
    "nested": (lambda _: '{"a":' * 100_000, "line 2 is not JSON"),
    "no object": (lambda _: "[1, 2]", "line 2 is not a JSON object"),
    "no UTF-8": (lambda _: b'{"concept": "\xff"}', "line 2 is not in UTF-8"),
    "unknown field": (changed(concpet="x"), "line 2, concpet: there is no such field; nearest: concept"),
    "a field of two lines": (changed(**{"a\nb": 1}), "line 2, a↵b: there is no such field"),
    "no model": (without("model"), "line 2, model: it is missing"),
    "unknown model": (changed(model="tiny-9m"), "line 2, model: there is no model tiny-9m"),
    "model without controls": (
        lambda sample: concept(sample, 1, model="bare"),
        "line 2, model: there is no model bare",
    ),
    "no vector": (without("vector"), "line 2, vector: it is missing"),
    "unknown vector": (changed(vector="0-000000000000"), "line 2, vector: there is no 0-000000000000 in the sample of"),
    "no handle": (changed(vector="L0N0"), "line 2, vector: there is no L0N0 in the sample"),
    "other seed": (lambda s: concept(s, 1, vector="7" + s.vectors[1].handle[1:]), "line 2, vector: there is no 7-"),
    "vector is a number": (changed(vector=7), "line 2, vector: 7 is not valid"),
    "no address": (instead("model", address="tiny"), "line 2, address: 'tiny' is not the address"),
    "no neuron": (instead("model", address="tiny-2m/L9N0"), "line 2, address: there is no neuron tiny-2m/L9N0"),
    "two names": (changed(address="tiny-2m/L0N0"), "line 2, vector: it cannot be combined with address"),
    "vector and layer": (changed(layer=1), "line 2, vector: it cannot be combined with layer"),
    "address and model": (instead(address="tiny-2m/L0N0"), "line 2, address: it cannot be combined with model"),
    "layer too high": (
        instead(layer=9, neuron=0),
        "line 2, vector: the tokens of neuron 0 of layer 9 of tiny-2m are not",
    ),
    "no such control": (
        instead(layer=0, condition="random", control_id=5),
        "line 2, vector: the tokens of random vector 5 of layer 0 of tiny-2m are not in the warehouse",
    ),
    "negative layer": (instead(layer=-1, neuron=0), "line 2, layer: -1 is not valid"),
    "layer is true": (instead(layer=True, neuron=0), "line 2, layer: True is not valid"),
    "layer alone": (instead(layer=0), "line 2, vector: it is missing"),
    "no such condition": (instead(layer=0, condition="noise", control_id=0), "line 2, condition: 'noise' is not valid"),
    "control of no kind": (instead(layer=0, control_id=0), "line 2, condition: None is not valid"),
    "neuron and control": (
        instead(layer=0, neuron=0, control_id=0, condition="random"),
        "line 2, control_id: it cannot be combined with neuron",
    ),
    "random neuron": (
        instead(layer=0, neuron=0, condition="random"),
        "line 2, neuron: it cannot be combined with the condition random",
    ),
    "no concept said": (without("concept"), "line 2, concept: it is missing"),
    "blank concept": (changed(concept="  "), "line 2, concept: '  ' is not valid"),
    "concept of two lines": (changed(concept="a\nb"), "line 2, concept: 'a\\nb' is not valid"),
    "half a character": (changed(concept="\ud800"), "line 2, concept: '\\ud800' is not valid"),
    "endless concept": (changed(concept="x" * 201), "line 2, concept: 'xxxxx"),
    "no class": (without("class"), "line 2, class: it is missing; write semantic, syntactic, names or"),
    "other class": (changed(**{"class": "semantics"}), "line 2, class: 'semantics' is not valid; write semantic,"),
    "class of none": (changed(concept=None, ranks=None), "line 2, class: it cannot be combined with a concept of null"),
    "tokens of none": (
        changed(concept=None, **{"class": None}),
        "line 2, ranks: it cannot be combined with a concept of null",
    ),
    "no tokens": (without("ranks"), "line 2, token_ids: 0 tokens are marked, but a concept needs 4"),
    "three tokens": (changed(ranks=[1, 2, 3]), "line 2, ranks: 3 tokens are marked, but a concept needs 4"),
    "one token four times": (changed(ranks=[2, 2, 2, 2]), "line 2, ranks: one token is marked, but a concept needs 4"),
    "rank 0": (changed(ranks=[0, 1, 2, 3]), "line 2, ranks: 0 is not among the"),
    "rank too high": (changed(ranks=[1, 2, 3, 31]), "line 2, ranks: 31 is not among the"),
    "a token not shown": (changed(ranks=None, token_ids=[0, 999, 1, 2]), "is not among the"),
    "ranks and ids": (changed(token_ids=[1, 2, 3, 4]), "line 2, ranks: it cannot be combined with token_ids"),
    "ranks as text": (changed(ranks="1 2 3 4"), "line 2, ranks: '1 2 3 4' is not valid"),
    "ranks of fractions": (changed(ranks=[1, 2, 3, 4.5]), "line 2, ranks: [1, 2, 3, 4.5] is not valid"),
    "no annotator": (without("annotator"), "line 2, annotator: it is missing"),
    "called all": (changed(annotator="All"), "line 2, annotator: 'All' is not valid"),
    "said twice": (
        lambda sample: concept(sample, 0, concept="Schools"),
        "line 2, concept: 'Schools' is named for this",
    ),
    "said and denied": (
        lambda sample: concept(sample, 0, concept=None, ranks=None, **{"class": None}),
        "line 2, concept: this vector is said both to have a concept and to have none (see line 1)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_saved_is_a_sentence_and_nothing_is(unjudged: Warehouse, sample: Sample, name: str) -> None:
    change, sentence = BAD[name]
    second = change(sample)
    line = second if isinstance(second, bytes) else (second if isinstance(second, str) else json.dumps(second)).encode()
    before = unjudged.path.read_bytes()
    answer = run(unjudged, "--stdin", text=json.dumps(concept(sample, 0)).encode() + b"\n" + line)
    assert (answer.exit_code, answer.stdout) == (2, "")
    (said,) = answer.stderr.splitlines()
    assert said.startswith("Error: ")
    assert sentence in said
    assert unjudged.path.read_bytes() == before


SHEETS = {
    "vector,concept\n": "the input has no annotations",
    "vector,concpet\nx,y\n": "line 1, concpet: there is no such field",
    "vector,class\nx,semantic\n": "line 2, concept: it is missing",
    "vector,concept,class\nx,y,none\n": "line 2, concept: it cannot be combined with the class none",
    "vector,concept,class\n\nx,y,nouns\n": "line 3, class: 'nouns' is not valid; write semantic",
    "vector,concept,class,ranks\nx,y,names,1 two\n": "line 2, ranks: '1 two' is not valid",
    'vector,concept\n"x,y\n': "the sheet is neither JSON nor CSV",
    "": "the input has no annotations",
    " \n\n": "the input has no annotations",
}


@pytest.mark.parametrize("text", SHEETS)
def test_a_sheet_that_cannot_be_read_is_a_sentence(unjudged: Warehouse, text: str) -> None:
    answer = run(unjudged, "--stdin", "--annotator", "anna", text=text)
    assert answer.exit_code == 2
    assert SHEETS[text] in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_without_a_warehouse_nothing_is_created(tmp_path: Path) -> None:
    line = json.dumps({"model": "m", "vector": "0-0123456789ab", "concept": None, "annotator": "anna"})
    answer = run(Warehouse(tmp_path / "none.duckdb"), "--stdin", text=line)
    assert (answer.exit_code, "there is no warehouse at" in answer.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_busy_warehouse_is_a_sentence(warehouse: Warehouse, sample: Sample) -> None:
    # Another program than this one: its lock is DuckDB's own.
    with duckdb.connect(str(warehouse.path)):
        answer = run_elsewhere(warehouse, json.dumps(concept(sample)))
    assert answer.returncode == 2
    assert "was still in use by the process" in answer.stderr
    assert stored(warehouse) == []


def run_elsewhere(warehouse: Warehouse, text: str) -> subprocess.CompletedProcess[str]:
    command = "import neurothek; neurothek.main()"
    options = ["annotate", "--stdin", "--wait", "0.2", "--warehouse", str(warehouse.path)]
    return subprocess.run(
        [sys.executable, "-c", command, *options], input=text, capture_output=True, text=True, check=False
    )


def test_one_of_the_two_things_is_asked(unjudged: Warehouse) -> None:
    mixed = ((), ("--stdin", "--sample", MODEL), ("--auto", "--stdin"), ("--auto", "--sample", MODEL))
    for options in mixed:
        answer = run(unjudged, *options)
        assert (answer.exit_code, "give one of --sample MODEL or --plausibility" in answer.stderr) == (2, True)
    for options, said in (
        (("--stdin", MODEL), "only judged with --auto"),
        (("--auto", "--glosses", "x.tsv"), "shown in a sample"),
        (("--auto", "--annotator", "anna"), "the annotator of --auto is called rules"),
    ):
        answer = run(unjudged, *options)
        assert (answer.exit_code, said in answer.stderr) == (2, True)


def test_the_help_names_the_fields(unjudged: Warehouse) -> None:
    text = run(unjudged, "--help").stdout
    assert all(
        field in text for field in set(FIELDS) - {"address", "layer", "condition", "neuron", "control_id", "token_ids"}
    )
