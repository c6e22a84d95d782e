"""Programs that score, and programs that answer nonsense: small scripts, run as they would be by a person."""

import json
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neurothek.catalog.problems import Failed, Invalid
from neurothek.ingest.interventions.scorers.command import TRIAL, CommandScorer, InvalidScore, json_object, score_of

LENGTHS = """
import json, sys
for line in sys.stdin:
    text = json.loads(line)["text"]
    print(json.dumps({"long": min(len(text) / 100, 1), "has_a": int("a" in text)}), flush=True)
"""

HOSTILE_TEXTS = ["", "a\nb\r\n\u2028c", '"}\\', "\ud800", "\x00\x1b[2J", "é" * 50, "a" * 500_000]


def command(folder: Path, script: str) -> str:
    path = folder / "a program.py"
    path.write_text(script)
    return shlex.join([sys.executable, "-I", "-S", str(path)])


def opened(folder: Path, script: str) -> CommandScorer:
    line = command(folder, script)
    return CommandScorer.opened(f"command:{line}", line, patience_seconds=30.0)


def after_trial(then: str) -> str:
    """A program that scores the trial text, and does something else with others."""
    return f"""
import json, sys, time
for number, line in enumerate(sys.stdin, start=1):
    if json.loads(line)["text"] == {TRIAL!r}:
        print('{{"bad": 0.5}}', flush=True)
    else:
        {then}
"""


def test_a_program_scores_each_text(tmp_path: Path) -> None:
    scorer = opened(tmp_path, LENGTHS)
    assert scorer.attributes == ("long", "has_a")
    assert scorer.is_foreign
    assert scorer.words("long") == ()
    expected = [[min(len(text) / 100, 1), "a" in text] for text in HOSTILE_TEXTS]
    assert np.array_equal(scorer.scores(HOSTILE_TEXTS), expected)
    assert scorer.scores([]).shape == (0, 2)


def test_the_identity_is_the_command(tmp_path: Path) -> None:
    scorer = opened(tmp_path, LENGTHS)
    assert json.loads(json.dumps(scorer.identity)) == scorer.identity
    assert shlex.split(scorer.identity["command"]) == list(scorer.arguments)
    assert scorer.identity["attributes"] == ["long", "has_a"]


def test_attributes_may_come_in_any_order(tmp_path: Path) -> None:
    script = after_trial('print(\'{"b": 1, "a": 0.25}\' if number % 2 else \'{"a": 0.75, "b": 0}\')')
    scorer = opened(tmp_path, script.replace('"bad": 0.5', '"a": 0, "b": 0'))
    assert scorer.scores(["x", "y"]).tolist() == [[0.25, 1], [0.75, 0]]


def test_a_program_may_answer_when_it_has_read_everything(tmp_path: Path) -> None:
    """More than a pipe holds goes either way: whoever wrote all before reading would wait for ever."""
    script = """
import json, sys
lines = sys.stdin.readlines()
sys.stderr.write("busy " * 100_000)
sys.stdout.write(json.dumps({"x" * 100: 0.5}) + "\\n" + (json.dumps({"x" * 100: 0.25}) + "\\n") * (len(lines) - 1))
"""
    scores = opened(tmp_path, script).scores(["a" * 100] * 5_000)
    assert scores.shape == (5_000, 1)
    assert scores.sum() == 0.5 + 0.25 * 4_999


def test_a_program_may_end_its_last_line_with_its_output(tmp_path: Path) -> None:
    scorer = opened(tmp_path, "import sys; sys.stdin.read(); sys.stdout.write('{\"a\": 1}')")
    assert scorer.scores(["x"]).tolist() == [[1]]


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("print('hello')", r"line 1 of its output is not JSON \(hello\)"),
        ("print()", r"line 1 of its output is not JSON \(it is empty\)"),
        ("print('[0.5]')", r"line 1 of its output is not a JSON object \(\[0.5\]\)"),
        ("print('{\"bad\": NaN}')", "line 1 of its output holds NaN"),
        ("print('{\"bad\": -Infinity}')", "line 1 of its output holds -Infinity"),
        ("print('{\"bad\": 1.01}')", "line 1 of its output gives 'bad' the score 1.01"),
        ("print('{\"bad\": -1e-9}')", "gives 'bad' the score -1e-09"),
        ("print('{\"bad\": true}')", "gives 'bad' the score true"),
        ("print('{\"bad\": null}')", "gives 'bad' the score null"),
        ('print(\'{"bad": "0.5"}\')', "gives 'bad' the score \"0.5\""),
        ("print('{\"bad\": ' + '9' * 5000 + '}')", "line 1 of its output is not JSON"),
        ("print('{\"bad\": 1e999}')", "gives 'bad' the score Infinity"),
        ('print(\'{"bad": 0, "bad": 1}\')', "gives 'bad' twice"),
        ("print('{\"good\": 0.5}')", "has the attributes 'good' and not 'bad'"),
        ('print(\'{"bad": 0.5, "good": 0.5}\')', "has the attributes 'bad', 'good' and not 'bad'"),
        ("print('{}')", "has the attributes none and not 'bad'"),
        ("print('[' * 100_000)", "line 1 of its output is not JSON"),
        ("sys.stdout.buffer.write(b'\\xff\\n')", "line 1 of its output is not JSON"),
        ('print(\'{"bad": 0.5}\\n{"bad": 0.5}\')', "wrote more than 2 lines for 2 texts"),
        ("print('{\"bad\": 0.5}') if number == 1 else None", "wrote 1 lines for 2 texts"),
        ("print('{\"bad\": 0.5}'); sys.exit(3)", "ended with exit code 3"),
        ("sys.exit('no model: \\x1b[2J')", r"ended with exit code 1 and said 'no model: \\\\x1b\[2J'"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("print('{\"bad\": 0.5}' if number == 1 else 'oops')", r"line 2 of its output is not JSON \(oops\)"),
        ("print('x' * 3_000_000)", "wrote a line of more than 1,048,576 bytes"),
        ("exec('while True: print(1)')", r"line 1 of its output is not a JSON object"),
    ],
)
def test_nonsense_is_a_failure_and_not_a_zero(tmp_path: Path, then: str, said: str) -> None:
    scorer = opened(tmp_path, after_trial(then))
    with pytest.raises(Failed, match=said) as caught:
        scorer.scores(["one", "two"])
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700


def test_a_program_that_stalls_is_ended(tmp_path: Path) -> None:
    # One text adds a second.
    scorer = replace(opened(tmp_path, after_trial("time.sleep(60)")), patience_seconds=-0.8)
    before = time.monotonic()
    with pytest.raises(Failed, match="did nothing for"):
        scorer.scores(["one"])
    assert time.monotonic() - before < 20


def test_what_a_program_started_ends_with_it(tmp_path: Path) -> None:
    """A child that holds the output open would be waited for without end."""
    mark = tmp_path / "mark"
    child = f"import time, pathlib; time.sleep(1.5); pathlib.Path({str(mark)!r}).touch()"
    start = f"import subprocess; subprocess.Popen([sys.executable, '-I', '-S', '-c', {child!r}])"
    then = f"{start}; print('oops', flush=True); time.sleep(9)"
    scorer = opened(tmp_path, after_trial(then))
    with pytest.raises(Failed, match="not JSON"):
        scorer.scores(["one"])
    time.sleep(2)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("print('nonsense')", "on a trial text line 1 of its output is not JSON"),
        ("", "on a trial text it wrote 0 lines for 1 texts"),
        ("import nothing_of_that_name", "on a trial text it ended with exit code 1 and said .*ModuleNotFoundError"),
        ("print('{}')", "it scores 0 attributes"),
        ("print('{\"\": 1}')", "'' is not an attribute name"),
        ("print('{\"a\\\\u001b\": 1}')", "is not an attribute name"),
    ],
)
def test_a_program_is_tried_when_it_is_opened(tmp_path: Path, script: str, said: str) -> None:
    with pytest.raises(Invalid, match=said) as caught:
        opened(tmp_path, script)
    assert str(caught.value).isprintable()


def test_what_is_no_command_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("no program")
    for argument, said in (
        ("", "names no program"),
        ("  ", "names no program"),
        ("'unended", "a quotation in it does not end"),
        ("no-such-program-anywhere x", "cannot be started"),
        (str(tmp_path / "plain.txt"), "cannot be started"),
        ("a\0b", "cannot be started"),
        (str(tmp_path), "cannot be started"),
    ):
        with pytest.raises(Invalid, match=said):
            CommandScorer.opened(f"command:{argument}", argument)


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(Invalid, match="cannot be used"):
        CommandScorer.opened("command:x", f"echo ';' touch {mark} '&&' $(touch {mark})")
    assert not mark.exists()


def test_only_numbers_between_0_and_1_are_scores() -> None:
    for value in (0, 1, 0.0, 1.0, 0.5, 5e-324, -0.0):
        score = score_of(value)
        assert score == value
        assert type(score) is float
    beyond: tuple[object, ...] = (1.0000000000000002, -5e-324, float("nan"), float("inf"), 10**400, -(10**400))
    assert [value for value in (True, False, None, "0.5", [0.5], {}, *beyond) if score_of(value) is not None] == []


def test_a_line_is_one_json_object() -> None:
    assert json_object('{"\u00e9": 0.5, "b": null}\r'.encode()) == {"\u00e9": 0.5, "b": None}
    for line, predicate in (
        (b"", "is not JSON (it is empty)"),
        (b"\xff", "is not JSON (\\xff)"),
        (b'{"a": 1} {"a": 1}', 'is not JSON ({"a": 1} {"a": 1})'),
        (b'"a\tb"', "is not JSON"),
        (b"null", "is not a JSON object (null)"),
        (b'{"a": Infinity}', "holds Infinity, which is not a number"),
        (b'{"a\\u001b": 0, "a\\u001b": 0}', "gives 'a\\\\x1b' twice"),
        (b'{"a": ' * 100_000, "is not JSON"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "is not JSON"),
    ):
        with pytest.raises(InvalidScore) as caught:
            json_object(line)
        message = str(caught.value)
        assert message.startswith(predicate)
        assert message.isprintable()
        assert len(message) < 200
