"""Prompts, scorers and baselines as a person asks for them, and what is refused in a sentence."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.problems import Invalid, NeurothekError, NotFound
from neurothek.ingest.interventions.steering import read_steering


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.txt").write_text("hell\ndamn it\n")
    return f"words:{tmp_path / 'bad.txt'}"


def test_lines_of_a_file_are_prompts(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes("\ufeffone two\r\n\r\n   \r\n  three \n".encode())
    found = read_steering(file, score=[bad])
    assert found.prompts == ("one two", "  three ")
    assert (found.unwanted, found.described, found.banned) == ("bad", "bad", ("hell", "damn it"))
    assert (found.length, found.temperature, found.seed, found.scorers) == (20, 0.0, 0, (bad,))


def test_json_lines_hold_a_prompt_or_a_text(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "prompts.jsonl"
    rows: list[Any] = ["plain", {"prompt": "one"}, {"text": "two"}, {"prompt": {"text": "three", "toxicity": 0.5}}]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert read_steering(str(file), score=[bad]).prompts == ("plain", "one", "two", "three")


def test_texts_from_python_are_taken_as_they_are(bad: str) -> None:
    found = read_steering(
        ["a.txt", "b"], score=[bad], banned=["x"], described="rude words", length=3, temperature=0.5, seed=2
    )
    assert found.prompts == ("a.txt", "b")
    assert (found.banned, found.described) == (("x",), "rude words")
    assert (found.length, found.temperature, found.seed) == (3, 0.5, 2)


def test_of_several_attributes_one_is_named(tmp_path: Path, bad: str) -> None:
    (tmp_path / "worse.txt").write_text("worse\n")
    two = [bad, f"words:{tmp_path / 'worse.txt'}"]
    assert read_steering(["a"], score=two, unwanted="worse").banned == ("worse",)
    with pytest.raises(NotFound, match=r"is not named; .* give --unwanted with one of bad, worse"):
        read_steering(["a"], score=two)
    with pytest.raises(NotFound, match="no scorer has an attribute 'worst'"):
        read_steering(["a"], score=two, unwanted="worst")


def test_without_a_scorer_domains_are_told_apart() -> None:
    found = read_steering(["a"], unwanted="code")
    assert found.scorers == ("domains",)
    assert len(found.banned) > 10
    with pytest.raises(NotFound, match="one of code, math, prose"):
        read_steering(["a"])


def test_a_scorer_without_words_needs_some_to_ban(tmp_path: Path) -> None:
    import sys  # noqa: PLC0415 - of one test

    program = tmp_path / "score.py"
    program.write_text("import json, sys\nfor line in sys.stdin: print(json.dumps({'rude': 0.5}))\n")
    command = f"command:{sys.executable} {program}"
    with pytest.raises(Invalid, match="has no words for it"):
        read_steering(["a"], score=[command])
    assert read_steering(["a"], score=[command], banned=["x"]).banned == ("x",)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "that is an empty file"),
        (b" \n\n", "an empty file"),
        (b"\xff\xfe\x00", "it is not UTF-8"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_holds_no_prompts_is_refused(
    tmp_path: Path, bad: str, content: bytes | None, sentence: str
) -> None:
    file = tmp_path / "prompts.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Invalid, match=sentence):
        read_steering(file, score=[bad])
    with pytest.raises(Invalid, match=sentence):
        read_steering(["a"], score=[bad], banned=file)


@pytest.mark.parametrize("line", ["{", "3", "null", '{"prompt": " "}', '{"other": "x"}', '{"prompt": ["x"]}'])
def test_a_line_without_a_prompt_is_named(tmp_path: Path, bad: str, line: str) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(f'"good"\n{line}\n')
    with pytest.raises(NeurothekError, match="line 2") as caught:
        read_steering(file, score=[bad])
    assert "\n" not in str(caught.value)


def test_a_line_ends_at_its_end_alone(tmp_path: Path, bad: str) -> None:
    """Other separators are part of a text, and legal in JSON."""
    file = tmp_path / "prompts.jsonl"
    file.write_bytes('{"prompt": "a\u2028b"}\r\n{"prompt": "c\x85d"}\n'.encode())
    assert read_steering(file, score=[bad]).prompts == ("a\u2028b", "c\x85d")


def test_half_a_character_is_refused_by_number(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('"good"\n{"prompt": "a\\ud800b"}\n')
    with pytest.raises(Invalid, match="line 2 has no text"):
        read_steering(file, score=[bad])
    with pytest.raises(Invalid, match="text 2 holds half of a character"):
        read_steering(["good", "a\ud800b"], score=[bad])


def test_banned_words_are_read_as_a_word_list_is(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "banned.txt"
    file.write_text("# remark\nself \n  damn   it # said twice\nself\n")
    assert read_steering(["a"], score=[bad], banned=file).banned == ("self", "damn it")
    file.write_text("# remark\n")
    with pytest.raises(Invalid, match="has no words for it"):
        read_steering(["a"], score=[bad], banned=file)


def test_scorers_of_one_name_are_refused(tmp_path: Path, bad: str) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "bad.txt").write_text("worse\n")
    for two in (["domains", "domains"], [bad, f"words:{tmp_path / 'other' / 'bad.txt'}"]):
        with pytest.raises(Invalid, match="two scorers have this name"):
            read_steering(["a"], score=two, unwanted="code" if two[0] == "domains" else "bad")


def test_a_device_is_refused_and_a_pipe_is_read(tmp_path: Path, bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Invalid, match="it is a device"):
        read_steering("/dev/zero", score=[bad])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("one\ntwo\n",))
    writer.start()
    assert read_steering(pipe, score=[bad]).prompts == ("one", "two")
    writer.join()
    monkeypatch.setattr("neurothek.ingest.corpora.prompt_sets._MOST_BYTES", 1 << 20)
    (tmp_path / "large.txt").write_bytes(b"x\n" * (1 << 20))
    with pytest.raises(Invalid, match="it is larger than 1 MiB"):
        read_steering(tmp_path / "large.txt", score=[bad])


def test_a_blank_description_is_refused(bad: str) -> None:
    with pytest.raises(Invalid, match="say what is unwanted"):
        read_steering(["a"], score=[bad], described="  ")


def test_no_prompts_at_all_are_refused(bad: str) -> None:
    with pytest.raises(Invalid, match="give at least one"):
        read_steering([], score=[bad])
