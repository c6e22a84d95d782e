"""What people send as annotations: lines and sheets are read alike, and each field is judged by itself."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import Invalid, NeurothekError, Unreadable
from neurothek.catalog.tables.annotations import CONCEPT_CLASSES
from neurothek.queries.annotate.lines import FIELDS, Entry, Line, entry, ranks_of, read_lines


def outcome(data: bytes) -> list[Line] | str:
    try:
        return read_lines(data)
    except NeurothekError as error:
        return str(error)


@given(st.binary(max_size=200) | st.text(alphabet='{}":,;\n ab1', max_size=40).map(str.encode))
def test_any_bytes_are_lines_or_a_sentence(data: bytes) -> None:
    found = outcome(data)
    assert found
    assert not isinstance(found, str) or "\n" not in found


@given(st.lists(st.integers(1, 30), min_size=1, unique=True))
def test_ranks_are_read_as_they_are_typed(ranks: list[int]) -> None:
    assert ranks_of(", ".join(map(str, ranks))) == ranks
    assert ranks_of(f" {min(ranks)}-{max(ranks)} ") == list(range(min(ranks), max(ranks) + 1))


@pytest.mark.parametrize("text", ["", "-", "1-", "a", "1..3", "1-2-3", "-1"])
def test_other_texts_are_no_ranks(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rank"):
        ranks_of(text)


def read(text: str) -> list[dict[str, Any]]:
    return [dict(line.fields) for line in read_lines(text.encode())]


def test_each_object_stands_in_its_line() -> None:
    text = '\n{"concept": "a"}\n   \r\n{"concept": null, "ranks": [1]}'
    found = read_lines(text.encode())
    assert found == [Line("line 2", {"concept": "a"}), Line("line 4", {"concept": None, "ranks": [1]})]
    assert read_lines(b"\xef\xbb\xbf" + text.encode()) == found


def test_a_separator_within_a_text_ends_no_line() -> None:
    assert read('{"concept": "a\u2028b\x85c"}') == [{"concept": "a\u2028b\x85c"}]


@pytest.mark.parametrize(
    ("data", "error", "place"),
    [
        (b"", Invalid, ""),
        (b" \n\n ", Invalid, ""),
        (b'{"a": 1}\n{', Unreadable, "line 2 "),
        (b'{"a": 1}\n[1]', Unreadable, "line 2 "),
        (b'{"a": 1}\n7', Unreadable, "line 2 "),
        (b'{"a": 1}\n\n{"b": "\xff"}', Unreadable, "line 3 "),
        (b"[" * 100_000, Unreadable, "line 1 "),
        (b"vector,concept\n", Invalid, ""),
        (b'vector,concept\n"x', Unreadable, "the sheet "),
        (b"vector,concpet\nx,y", Invalid, "line 1, concpet: "),
    ],
)
def test_what_is_no_annotation_is_told_with_its_place(data: bytes, error: type[NeurothekError], place: str) -> None:
    with pytest.raises(error) as refused:
        read_lines(data)
    assert str(refused.value).startswith(place)


CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@given(rows=st.lists(st.tuples(CELLS, CELLS, st.sampled_from(CONCEPT_CLASSES)), min_size=1, max_size=4))
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_sheet_says_what_lines_say(rows: list[tuple[str, str, str]], separator: str) -> None:
    sheet = io.StringIO()
    writer = csv.writer(sheet, delimiter=separator)
    writer.writerow(["vector", "concept", "class", "ranks", "1", "2", ""])
    for vector, concept, kind in rows:
        writer.writerow([vector, f" {concept} ", kind, "1-3, 5", "1 a", "2 b", ""])
    as_lines = [{"vector": v, "concept": c, "class": k, "ranks": [1, 2, 3, 5]} for v, c, k in rows]
    assert read(sheet.getvalue()) == read("\n".join(map(json.dumps, as_lines)))


def test_rows_that_nobody_filled_in_are_left_out() -> None:
    sheet = "model,vector,concept,class,ranks,1\nm,x,,,,1 a\nm,y,,none,,1 a\nm,z\nm,w,c,names,[1 2],\n"
    assert read(sheet) == [
        {"model": "m", "vector": "y", "concept": None},
        {"model": "m", "vector": "w", "concept": "c", "class": "names", "ranks": [1, 2]},
    ]


@pytest.mark.parametrize(
    ("row", "error", "field"),
    [
        ("x,,semantic,", Invalid, "concept"),
        ("x,c,none,", Invalid, "concept"),
        ("x,c,nouns,", Invalid, "class"),
        ("x,c,names,1 two", Invalid, "ranks"),
    ],
)
def test_cells_are_judged_in_their_line(row: str, error: type[NeurothekError], field: str) -> None:
    with pytest.raises(error) as refused:
        read(f"vector,concept,class,ranks\ny,c,names,1\n{row}")
    assert str(refused.value).startswith(f"line 3, {field}: ")


@pytest.mark.parametrize(
    ("text", "ranks"),
    [("1", [1]), ("1 4, 7-9", [1, 4, 7, 8, 9]), ("3;3;2-3", [3, 3, 2, 3]), (" 9-9\n", [9]), ("5-3", [])],
)
def test_ranks_stand_in_the_order_in_which_they_were_typed(text: str, ranks: list[int]) -> None:
    assert ranks_of(text) == ranks


WHOLE: dict[str, Any] = {"model": "m", "vector": "0-0123456789ab", "concept": "c", "class": "names", "ranks": [2, 1]}


def judged(**changed: Any) -> Entry:
    fields = {name: value for name, value in {**WHOLE, **changed}.items() if value is not ...}
    return entry(Line("line 1", fields), annotator="anna")


def test_a_whole_line_is_an_entry() -> None:
    assert judged() == Entry(
        "line 1", "anna", "m", "0-0123456789ab", None, None, "c", "names", marked=(2, 1), marked_by="ranks"
    )
    assert judged(annotator=" ben ").annotator == "ben"
    assert judged(annotator="Al").annotator == "Al"
    assert judged(concept="  é b ").concept == "é b"
    assert judged(concept="x" * 200).concept == "x" * 200
    assert judged(ranks=..., token_ids=[0, 7, 0]).marked == (0, 7)
    assert judged(ranks=[], token_ids=[5]).marked_by == "token_ids"
    nothing = judged(concept=None, ranks=..., **{"class": ...})
    assert (nothing.concept, nothing.concept_class, nothing.marked) == (None, None, ())


@pytest.mark.parametrize(
    ("named", "key"),
    [
        ({"layer": 3, "neuron": 0}, ("value", 3, 0)),
        ({"layer": 0, "neuron": 2**31 - 1, "condition": "value"}, ("value", 0, 2**31 - 1)),
        ({"layer": 1, "control_id": 2, "condition": "random"}, ("random", 1, 2)),
        ({"layer": 1, "control_id": 2, "condition": "ffn_update"}, ("ffn_update", 1, 2)),
    ],
)
def test_a_vector_can_be_named_openly(named: dict[str, Any], key: tuple[str, int, int]) -> None:
    assert judged(vector=..., **named).key == key
    assert judged(vector=..., model=..., address="m/L0N0").key is None


@pytest.mark.parametrize(
    ("changed", "error", "field"),
    [
        ({"concpet": 1}, Invalid, "concpet"),
        ({"model": ...}, Invalid, "model"),
        ({"model": ""}, Invalid, "model"),
        ({"model": ["m"]}, Invalid, "model"),
        ({"concept": ...}, Invalid, "concept"),
        ({"concept": "\u2028"}, Invalid, "concept"),
        ({"concept": "a\x00"}, Invalid, "concept"),
        ({"concept": "x" * 201}, Invalid, "concept"),
        ({"concept": None}, Invalid, "class"),
        ({"concept": None, "class": None}, Invalid, "ranks"),
        ({"class": ...}, Invalid, "class"),
        ({"class": "Names"}, Invalid, "class"),
        ({"class": ["names"]}, Invalid, "class"),
        ({"annotator": "ALL"}, Invalid, "annotator"),
        ({"ranks": "1 2"}, Invalid, "ranks"),
        ({"ranks": {"1": 2}}, Invalid, "ranks"),
        ({"ranks": 5}, Invalid, "ranks"),
        ({"ranks": [1, True]}, Invalid, "ranks"),
        ({"ranks": [1, -1]}, Invalid, "ranks"),
        ({"ranks": [2**31]}, Invalid, "ranks"),
        ({"ranks": [1.0]}, Invalid, "ranks"),
        ({"token_ids": [1]}, Invalid, "ranks"),
        ({"vector": ...}, Invalid, "vector"),
        ({"vector": ..., "layer": 1}, Invalid, "vector"),
        ({"vector": ..., "neuron": 1}, Invalid, "vector"),
        ({"vector": ..., "layer": "1", "neuron": 1}, Invalid, "layer"),
        ({"vector": ..., "layer": 1, "neuron": 1, "control_id": 1}, Invalid, "control_id"),
        ({"vector": ..., "layer": 1, "neuron": 1, "condition": "random"}, Invalid, "neuron"),
        ({"vector": ..., "layer": 1, "control_id": 1, "condition": "value"}, Invalid, "control_id"),
        ({"vector": ..., "layer": 1, "control_id": 1}, Invalid, "condition"),
        ({"layer": 0}, Invalid, "vector"),
        ({"address": "m/L0N0"}, Invalid, "vector"),
        ({"vector": ..., "address": "m/L0N0"}, Invalid, "address"),
    ],
    ids=str,
)
def test_a_field_that_cannot_be_saved_is_named(changed: dict[str, Any], error: type[Invalid], field: str) -> None:
    with pytest.raises(error) as refused:
        judged(**changed)
    assert str(refused.value).startswith(f"line 1, {field}: ")
    assert "\n" not in str(refused.value)


def test_of_several_names_of_a_vector_the_first_is_told() -> None:
    names: tuple[dict[str, Any], ...] = ({}, {"vector": ..., "model": ..., "address": "m/L0N0"})
    for by_address in names:
        with pytest.raises(Invalid, match="combined with layer;"):
            judged(**by_address, layer=0, neuron=1, condition="value")
    with pytest.raises(Invalid, match="combined with model;"):
        judged(vector=..., address="m/L0N0")


def test_somebody_has_to_say_who_annotated() -> None:
    with pytest.raises(Invalid, match="line 1, annotator: "):
        entry(Line("line 1", WHOLE))
    with pytest.raises(Invalid, match="--annotator, annotator: "):
        entry(Line("line 1", WHOLE), annotator=" ")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(CONCEPT_CLASSES),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=2),
    max_leaves=4,
)


@given(fields=st.dictionaries(st.sampled_from([*FIELDS, "other"]), ANY))
def test_any_fields_are_an_entry_or_a_sentence(fields: dict[str, Any]) -> None:
    found: Entry | str
    try:
        found = entry(Line("line 1", fields), annotator="anna")
    except Invalid as error:
        found = str(error)
    if isinstance(found, str):
        assert len(found.splitlines()) == 1
    else:
        assert found.model or found.address
        assert (found.concept is None) == (found.concept_class is None)
