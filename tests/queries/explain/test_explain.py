"""Explanations by a server with a planted rule: the right text beats every control, and what fails is missing."""

import json
import math
import os
import signal
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog.problems import NotFound, NotMeasured, Refused
from neurothek.catalog.progress import Silent
from neurothek.catalog.upkeep.checks import broken, of_subject
from neurothek.queries.explain import endpoint
from neurothek.queries.explain.plans import ExplanationPlan
from tests.support import plain_intervals, planted_contexts
from tests.support.chat_server import Chat, Handler, Reply, chat_server
from tests.support.planted_contexts import MODEL, WORDS
from tests.support.templates import copy_of

PLANTED = "layer = 0 and neuron < 3"
SECRET = "sk-quite-a-secret-71c5d0"


@pytest.fixture
def door(tmp_path: Path) -> neurothek.Neurothek:
    copy_of("planted-contexts", planted_contexts.create, tmp_path / "w.duckdb")
    return neurothek.open(tmp_path / "w.duckdb")


@pytest.fixture
def chat() -> Iterator[Chat]:
    with chat_server() as server:
        yield server


def planned(door: neurothek.Neurothek, chat: Chat, where: str | None = PLANTED, **more: Any) -> ExplanationPlan:
    return door.plan_explanations(MODEL, endpoint=chat.url, model_name="stub", where=where, **more)


def run(door: neurothek.Neurothek, chat: Chat, *arguments: str) -> Result:
    command = ["explain", MODEL, "--endpoint", chat.url, "--model-name", "stub", "--warehouse", str(door.path)]
    return CliRunner().invoke(neurothek.main, [*command, *arguments], catch_exceptions=False)


def scores(door: neurothek.Neurothek, neuron: int, explainer: str = "stub") -> dict[tuple[str, str], float]:
    query = "from explanation_scores where part = 'all' and neuron = $neuron and explainer = $explainer"
    rows = door.sql(query, {"neuron": neuron, "explainer": explainer}).to_dicts()
    return {(row["method"], row["condition"]): row["score"] for row in rows}


def test_the_right_text_beats_every_control_on_each_method(door: neurothek.Neurothek, chat: Chat) -> None:
    plan = planned(door, chat)
    answer = door.explain_neurons(plan)
    assert len(chat.requests) == plan.n_calls > 100
    assert not answer.notes
    texts = door.sql("select text, pole from explanations order by neuron").rows()
    assert texts == [(f"the words {word}", "negative" if word == "tunnel" else "positive") for word in WORDS]
    for neuron in range(3):
        by_kind = scores(door, neuron)
        assert len(by_kind) == 13
        for method in ("detection", "fuzzing", "intruder"):
            assert by_kind[method, "explanation"] == 1
            controls = [by_kind[kind] for kind in by_kind if kind[0] == method and kind[1] != "explanation"]
            assert max(controls) < 0.8
    row = answer.pooled().row(0, named=True)
    assert (row["method"], row["condition"], row["score"], row["failed"]) == ("detection", "explanation", 1, 0)


def test_a_neuron_that_fires_at_random_is_not_explained(door: neurothek.Neurothek, chat: Chat) -> None:
    door.explain_neurons(planned(door, chat, "layer = 0 and neuron in (0, 3)"))
    by_kind = scores(door, 3)
    assert by_kind["detection", "explanation"] < 0.8
    assert by_kind["intruder", "explanation"] < 0.8
    assert scores(door, 0)["detection", "explanation"] == 1


def test_wrong_and_right_texts_of_people(door: neurothek.Neurothek, chat: Chat, tmp_path: Path) -> None:
    lines = [
        {"address": f"{MODEL}/L0N0", "text": "the words zebra", "explainer": "anna"},
        {"address": f"{MODEL}/L0N0", "text": "the words violin", "explainer": "ben"},
        {"address": f"{MODEL}/L0N1", "text": "the words violin", "explainer": "anna", "pole": "positive"},
    ]
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    result = run(door, chat, "--scores-only", str(tmp_path / "lines.jsonl"), "--yes")
    assert result.exit_code == 0, result.stderr
    assert "3 explanations" in result.stdout
    assert scores(door, 0, "anna")["detection", "explanation"] == 1
    assert scores(door, 0, "ben")["detection", "explanation"] <= 0.6
    assert scores(door, 0, "ben")["fuzzing", "explanation"] <= 0.6
    assert scores(door, 1, "anna")["fuzzing", "explanation"] == 1
    again = planned(door, chat, None, scores_only=lines)
    assert again.n_calls == 0


def test_what_is_displayed_is_never_judged(door: neurothek.Neurothek, chat: Chat) -> None:
    plan = planned(door, chat)
    for work in plan.works:
        for material in (work.subject.material, work.subject.made_up):
            judged = [*(context for _, context in material.active), *material.inactive]
            assert len(material.displayed) >= 6
            assert len(material.active) == len(material.inactive) == 9
            everything = [*material.displayed, *judged]
            assert not any(one.overlaps(other) for one in everything for other in everything if one is not other)
        word = f" {WORDS[work.subject.neuron]}"
        material = work.subject.material
        for part, context in material.active:
            assert [context.tokens[at] for at in context.marks] == [word], part
        assert all(word not in context.tokens and not context.marks for context in material.inactive)
        assert Counter(part for part, _ in material.active) == {"strongest": 3, "upper": 2, "middle": 2, "lower": 2}


def test_balanced_accuracies_are_those_of_a_plain_loop(door: neurothek.Neurothek, chat: Chat) -> None:
    # Some wrong answers, and some that are none.
    chat.instead = lambda number: {3: _nonsense, 5: _turned}.get(number % 7)
    door.explain_neurons(planned(door, chat))
    rows = door.sql("from explanation_scores").to_dicts()
    judged = door.sql(
        """
        select judgements.*, explanations.neuron from store.explanation_judgements as judgements
        inner join store.explanations as explanations using (explanation_id)
        """
    ).to_dicts()
    assert any(row["answer"] is None for row in judged)
    assert {row["part"] for row in rows} == {"all", "strongest", "upper", "middle", "lower"}
    for row in rows:
        hits = {True: 0, False: 0}
        counts = {True: 0, False: 0}
        failed = 0
        for one in judged:
            is_of_row = all(one[name] == row[name] for name in ("neuron", "judge", "method", "condition"))
            if not is_of_row or (one["is_true"] and row["part"] not in ("all", one["part"])):
                continue
            if one["answer"] is None:
                failed += 1
                continue
            counts[one["is_true"]] += 1
            hits[one["is_true"]] += one["answer"] == one["is_true"]
        assert failed == row["n_failed"]
        shown = [row[name] for name in ("n_true", "n_true_right", "n_false", "n_false_right")]
        assert shown == [counts[True], hits[True], counts[False], hits[False]]
        if not counts[True] or (row["method"] != "intruder" and not counts[False]):
            assert row["score"] is None
            continue
        true, low, high = plain_intervals.wilson(hits[True], counts[True])
        if row["method"] == "intruder":
            expected = (true, low, high)
        else:
            false, false_low, false_high = plain_intervals.wilson(hits[False], counts[False])
            middle = (true + false) / 2
            below = math.sqrt((true - low) ** 2 + (false - false_low) ** 2) / 2
            above = math.sqrt((high - true) ** 2 + (false_high - false) ** 2) / 2
            expected = (middle, middle - below, middle + above)
        assert (row["score"], row["score_low"], row["score_high"]) == pytest.approx(expected, abs=1e-4)


def _nonsense(handler: Handler, _: str) -> None:
    handler.say("I would rather talk about the weather")


def _turned(handler: Handler, text: str) -> None:
    handler.say(text.replace("1", "x").replace("0", "1").replace("x", "0") if text.startswith("[") else text)


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_run_that_was_interrupted_asks_only_for_the_rest(
    door: neurothek.Neurothek, chat: Chat, parallel: int
) -> None:
    plan = planned(door, chat, parallel=parallel)

    def pressed(handler: Handler, text: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        handler.say(text)

    chat.instead = lambda number: pressed if number == 40 else None
    # A process in the background of a shell ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            door.explain_neurons(plan)
    finally:
        signal.signal(signal.SIGINT, before)
    chat.instead = lambda number: None
    n_asked = len(chat.requests)
    rest = planned(door, chat)
    # What was under way is lost, and nothing else: nothing is sent any more either.
    assert n_asked - parallel <= rest.n_answered <= n_asked - 1
    assert rest.n_calls == plan.n_calls - rest.n_answered
    door.explain_neurons(rest)
    assert len(chat.requests) == n_asked + rest.n_calls
    assert planned(door, chat).n_calls == 0
    assert scores(door, 1)["fuzzing", "explanation"] == 1
    assert planned(door, chat, force=True).n_calls == plan.n_calls


STORED = """
select e.layer, e.neuron, e.pole, e.subject, e.explainer, e.text, e.prompt_sha256, null as condition, null as method,
    null as place, null as is_true, null as answer, e.rowid
from store.explanations as e
union all
select e.layer, e.neuron, e.pole, e.subject, e.explainer, e.text, j.prompt_sha256, j.condition, j.method,
    j.sequence_id * 10_000 + j.position, j.is_true, j.answer, j.rowid
from store.explanation_judgements as j inner join store.explanations as e using (explanation_id)
"""


def test_the_same_is_stored_however_many_calls_there_are_at_a_time(tmp_path: Path, chat: Chat) -> None:
    # Some answers late, some of no use: they come in another order than they are asked for.
    chat.instead = lambda number: _by_prompt
    stored = []
    for parallel in (1, 4, 16):
        copy_of("planted-contexts", planted_contexts.create, tmp_path / f"{parallel}.duckdb")
        door = neurothek.open(tmp_path / f"{parallel}.duckdb")
        chat.requests.clear()
        chat.most_at_once = 0
        plan = planned(door, chat, parallel=parallel)
        door.explain_neurons(plan)
        assert len(chat.requests) == plan.n_calls
        assert chat.most_at_once <= parallel
        stored.append(door.sql(f"select * exclude rowid from ({STORED}) order by condition nulls first, rowid").rows())
    assert stored[0] == stored[1] == stored[2] != []
    assert any(row[-1] is None and row[-5] is not None for row in stored[0])


def _by_prompt(handler: Handler, text: str) -> None:
    """Late or of no use by what is asked alone."""
    number = zlib.crc32(json.dumps(handler.sent["messages"]).encode())
    time.sleep(0.02 * (number % 5 == 0))
    handler.say("no list" if number % 7 == 0 and text.startswith("[") else text)


def test_as_many_calls_are_under_way_as_were_asked_for(door: neurothek.Neurothek, chat: Chat) -> None:
    # A server that answers when four calls have come: whoever sends one at a time waits for nobody each time.
    arrived = threading.Condition()
    n_arrived, alone = 0, []

    def together(handler: Handler, text: str) -> None:
        nonlocal n_arrived
        with arrived:
            number, n_arrived = n_arrived, n_arrived + 1
            arrived.notify_all()
            if not arrived.wait_for(lambda: n_arrived > number - number % 4 + 3, timeout=1):
                alone.append(number)
        handler.say(text)

    # The first call goes alone.
    chat.instead = lambda number: together if number else None
    plan = planned(door, chat, parallel=4)
    door.explain_neurons(plan)
    # The last calls for texts, before judges are asked, and the last of all.
    assert len(alone) <= 6 < plan.n_calls / 20
    assert chat.most_at_once <= 4
    chat.most_at_once = 0
    chat.instead = lambda number: None
    door.explain_neurons(planned(door, chat, parallel=1, force=True))
    assert chat.most_at_once == 1


def test_every_call_heeds_the_rest_that_one_is_told_of(door: neurothek.Neurothek, chat: Chat) -> None:
    until = 0.0
    early = []

    def limited(number: int) -> Reply | None:
        nonlocal until
        if number == 20:
            until = time.monotonic() + 1
            return lambda handler, _: handler.send(429, b"{}", Retry_After="1")
        # Those that were under way already have come within a moment.
        if until - 0.7 < time.monotonic() < until - 0.05:
            early.append(number)
        return None

    chat.instead = limited
    answer = door.explain_neurons(planned(door, chat, parallel=4))
    assert until
    assert early == []
    assert not answer.notes


def test_an_endpoint_that_answers_nothing_is_an_error_and_nothing_is_kept(
    door: neurothek.Neurothek, chat: Chat, tmp_path: Path
) -> None:
    (tmp_path / "lines.jsonl").write_text(
        json.dumps({"address": f"{MODEL}/L0N0", "text": "zebras", "explainer": "anna"})
    )
    replies: tuple[tuple[Reply, str], ...] = (
        (lambda handler, _: handler.send(401, b'{"error": {"message": "wrong key \x1b[2J"}}'), "--key-variable"),
        (_nonsense_body, "base URL"),
        (lambda handler, _: handler.send(404, b'{"error": "model \'stub\' not found"}'), "one of"),
        (lambda handler, _: handler.send(400, b'{"error": {"message": "maximum context length"}}'), "longer context"),
    )
    for reply, told in replies:
        chat.instead = _always(reply)
        for ways in (("--where", PLANTED), ("--scores-only", str(tmp_path / "lines.jsonl"))):
            result = run(door, chat, *ways, "--yes")
            assert result.exit_code == 2
            assert f"{chat.url}/chat/completions gives no answer of stub: " in result.stderr
            assert told in result.stderr
            assert "\x1b" not in result.stderr
    assert door.sql("select count(*) from store.explanations").item() == 0
    assert door.sql("select count(*) from store.explanation_judgements").item() == 0


def test_a_server_that_hangs_up_on_everybody_is_an_error(
    door: neurothek.Neurothek, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_BACKOFF_SECONDS", 0.001)

    def hangs_up(handler: Handler, _: str) -> None:
        handler.close_connection = True

    chat.instead = _always(hangs_up)
    # So few calls that they are all sent.
    result = run(door, chat, "--where", "layer = 0 and neuron = 0", "--yes")
    assert result.exit_code == 2
    assert "connection that ends too soon; see what the server writes of it" in result.stderr
    assert door.sql("select count(*) from store.explanations").item() == 0


def test_texts_are_borrowed_from_others_alone(door: neurothek.Neurothek, chat: Chat) -> None:
    lines = [
        {"address": f"{MODEL}/L0N{neuron}", "text": f"{neuron} {name}", "explainer": name}
        for neuron, name in ((0, "anna"), (1, "anna"), (0, "ben"), (2, "anna"), (0, "eva"))
    ]
    lent = set()
    for seed in range(20):
        works = planned(door, chat, None, scores_only=lines, seed=seed).works
        for number, work in enumerate(works):
            assert work.borrowed_from is not None
            assert works[work.borrowed_from].subject.neuron != work.subject.neuron
            lent.add((number, work.borrowed_from))
    neurons = [0, 1, 0, 2, 0]
    assert lent == {(a, b) for a in range(5) for b in range(5) if neurons[a] != neurons[b]}


def _always(reply: Reply) -> Callable[[int], Reply | None]:
    return lambda number: reply


def test_answers_of_no_use_are_not_paid_for_on_and_on(door: neurothek.Neurothek, chat: Chat) -> None:
    chat.instead = lambda number: _cut_off
    lines = [{"address": f"{MODEL}/L0N0", "text": "zebras", "explainer": name} for name in ("anna", "ben")]
    answer = door.explain_neurons(planned(door, chat, None, scores_only=lines, parallel=1))
    assert answer.is_stopped
    assert (
        "stopped: the first 20 answers of their kind are of no use, the last one is an answer cut off"
        in answer.notes[-1]
    )
    assert "raise --answer-tokens" in answer.notes[-2]
    assert len(chat.requests) == 20


def test_judgements_of_no_use_are_not_paid_for_after_texts_that_are(door: neurothek.Neurothek, chat: Chat) -> None:
    """Texts come first, and say nothing about how the language model judges."""
    n_texts = planned(door, chat).n_explanations
    chat.instead = lambda number: None if number < n_texts else _unread
    answer = door.explain_neurons(planned(door, chat, parallel=1))
    assert answer.is_stopped
    assert "stopped: the first 20 answers of their kind are of no use" in answer.notes[-1]
    assert len(chat.requests) == n_texts + 20


def _unread(handler: Handler, text: str) -> None:
    handler.say("I would rather not say")


def _cut_off(handler: Handler, text: str) -> None:
    handler.say(text, reason="length")


def test_failures_are_missing_and_are_asked_again(door: neurothek.Neurothek, chat: Chat) -> None:
    def half(handler: Handler, text: str) -> None:
        handler.say(text, reason="length")

    chat.instead = lambda number: half if number % 4 == 3 else None
    plan = planned(door, chat)
    answer = door.explain_neurons(plan)
    assert answer.notes
    assert not answer.is_stopped
    n_failed = door.sql("select count(*) from store.explanation_judgements where answer is null").item()
    assert n_failed > 0
    by_kind = scores(door, 0)
    assert by_kind["detection", "explanation"] == 1  # not less: what is missing counts for nothing
    chat.instead = lambda number: None
    door.explain_neurons(planned(door, chat))
    assert door.sql("select count(*) from store.explanation_judgements where answer is null").item() == 0
    assert planned(door, chat).n_calls == 0


def test_an_endpoint_that_fails_for_good_is_not_asked_on(door: neurothek.Neurothek, chat: Chat) -> None:
    chat.instead = lambda number: (lambda handler, _: handler.send(401, b"{}")) if number >= 10 else None
    result = run(door, chat, "--where", PLANTED, "--yes")
    assert result.exit_code == 1
    assert "stopped: the endpoint answers with status 401" in result.stderr
    assert 11 <= len(chat.requests) <= 11 + 3
    assert door.sql("select count(*) from explanations").item() == 3
    chat.requests.clear()
    chat.instead = lambda number: _nonsense_body if number else None
    result = run(door, chat, "--where", PLANTED, "--yes")
    assert result.exit_code == 1
    assert "failed 5 times in a row" in result.stderr
    assert 6 <= len(chat.requests) <= 6 + 3


def _nonsense_body(handler: Handler, _: str) -> None:
    handler.send(200, b"<html>")


def test_nothing_is_sent_before_somebody_says_so(door: neurothek.Neurothek, chat: Chat) -> None:
    plan = planned(door, chat)
    told = run(door, chat, "--where", PLANTED, "--plan")
    assert told.exit_code == 0
    assert f"{plan.n_calls:,} calls to stub" in told.stderr
    refused = run(door, chat, "--where", PLANTED)
    assert refused.exit_code == 2
    assert "add --yes to send them" in refused.stderr
    assert chat.requests == []
    assert door.sql("select count(*) from store.explanations").item() == 0


def test_the_key_is_sent_to_the_endpoint_and_nowhere_else(
    door: neurothek.Neurothek, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    chat.explanation = lambda prompt: f"the key is {SECRET}" if "zebra" in prompt else "the words violin"
    plan = planned(door, chat, key_variable="MY_KEY")
    assert SECRET not in repr(plan) + str(plan.sentences())
    result = run(door, chat, "--where", PLANTED, "--key-variable", "MY_KEY", "--yes", "-v")
    assert result.exit_code == 0
    assert set(chat.keys) == {f"Bearer {SECRET}"}
    assert SECRET not in result.output + result.stderr
    assert "answer that repeats the key" in result.stderr
    for path in door.path.parent.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    monkeypatch.setenv("MY_KEY", f"{SECRET} {SECRET}")
    refused = run(door, chat, "--where", PLANTED, "--key-variable", "MY_KEY", "--yes")
    assert refused.exit_code == 2
    assert SECRET not in refused.output + refused.stderr
    given = run(door, chat, "--where", PLANTED, "--key-variable", SECRET, "--yes")
    assert given.exit_code == 2
    assert SECRET not in given.output + given.stderr


HOSTILE = "\x1b[2J\x1b]0;owned\x07 <script>alert(1)</script> \u202ezebra"


def test_texts_of_an_endpoint_are_shown_as_texts(door: neurothek.Neurothek, chat: Chat) -> None:
    chat.explanation = lambda prompt: HOSTILE
    assert run(door, chat, "--where", PLANTED, "--yes").exit_code == 0
    for command in (["neuron", f"{MODEL}/L0N0"], ["search", "--explained", "script"]):
        runner = CliRunner(env={"COLUMNS": "300"})
        result = runner.invoke(neurothek.main, [*command, "--warehouse", str(door.path)], catch_exceptions=False)
        assert result.exit_code == 0
        assert "<script>" in result.stdout
        assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)
    page = door.neuron(f"{MODEL}/L0N0")._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page


def test_explanations_are_found_by_their_words(door: neurothek.Neurothek, chat: Chat) -> None:
    door.explain_neurons(planned(door, chat))
    assert door.explained("ZEBRA").explanations["address"].to_list() == [f"{MODEL}/L0N0"]
    assert door.explained("zebra", "violin").explanations.is_empty()
    assert door.explained("words", model=MODEL).explanations.height == 3
    page = door.neuron(f"{MODEL}/L0N2")
    (section,) = [one for one in page.sections() if one.title.startswith("explained")]
    assert section.title == "explained at negative activations by stub: the words tunnel"
    assert section.frame["method"].to_list() == ["detection", "fuzzing", "intruder"]
    assert section.frame["score"].to_list() == [1, 1, 1]
    assert section.frame.drop("method").drop("random", "borrowed").null_count().row(0) == (0,) * 5


def test_rows_follow_their_model(door: neurothek.Neurothek, chat: Chat, tmp_path: Path) -> None:
    door.explain_neurons(planned(door, chat))
    rows = door.sql("from explanation_scores order by all").drop("model", "address")
    with door.reader() as connection:
        checks = [*of_subject("written", "explanations_are_of_neurons"), *of_subject("key", "explanation_judgements")]
        assert broken(connection, among=checks, progress=Silent()) == []
    door.export(tmp_path / "out")
    other = neurothek.open(tmp_path / "other.duckdb")
    other.import_(tmp_path / "out")
    assert other.sql("from explanation_scores order by all").drop("model", "address").equals(rows)
    door.rename(MODEL, "renamed")
    assert door.sql("select distinct model from explanations").item() == "renamed"
    assert door.sql("from explanation_scores order by all").drop("model", "address").equals(rows)
    deleted = door.remove("renamed")
    assert deleted["explanations"] == 6
    assert deleted["explanation_judgements"] > 0
    assert door.sql("from explanations").is_empty()


def test_what_cannot_be_explained(door: neurothek.Neurothek, chat: Chat, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="never active"):
        planned(door, chat, "layer = 0 and neuron = 4")
    assert planned(door, chat, "layer = 0").left_out == 1
    with pytest.raises(NotMeasured, match="has no contexts"):
        door.plan_explanations("weights-only", endpoint=chat.url, model_name="stub", where="layer = 0")
    with pytest.raises(Refused, match="without encryption"):
        door.plan_explanations(MODEL, endpoint="http://example.org/v1", model_name="stub", where="layer = 0")
    alone = planned(door, chat, "layer = 0 and neuron = 0")
    assert any("could be borrowed" in sentence for sentence in alone.sentences())
    door.explain_neurons(alone)
    assert ("detection", "borrowed") not in scores(door, 0)
    for lines, where in (
        ("{", "line 1 is not JSON"),
        ("[]", "line 1 is no JSON object"),
        ('{"address": "tiny-1m/L0N0", "text": "a"}', "line 1, explainer"),
        ('{"address": "tiny-1m/L0N0", "text": "a", "explainer": "b", "pol": 1}', "line 1, pol"),
        ('{"address": "tiny-1m/L0N0", "text": "a", "explainer": "b", "pole": "up"}', "is not a pole"),
        ('{"address": "tiny-2m/L0N0", "text": "a", "explainer": "b"}', "it is a neuron of tiny-2m"),
        ('\n{"address": "tiny-1m/L9N0", "text": "a", "explainer": "b"}', "line 2, address: there is no neuron"),
        ('{"address": "%s", "text": "a", "explainer": "b"}' % ("x" * 10_000), "line 1, address: it has more than 500"),
        ('{"address": "tiny-1m/L0N0", "text": "%s", "explainer": "b"}' % ("x" * 10_000_000), "more than 1,000 letters"),
        ('{"address": "\\u001b[2J", "text": "a", "explainer": "b"}', "line 1, address"),
        (2 * '{"address": "tiny-1m/L0N0", "text": "a", "explainer": "b"}\n', "explains it already"),
        ("", "there are no explanations"),
    ):
        (tmp_path / "lines.jsonl").write_text(lines)
        result = run(door, chat, "--scores-only", str(tmp_path / "lines.jsonl"), "--yes")
        assert result.exit_code == 2
        assert where in result.stderr
        assert len(result.stderr) < 1_000
        assert "\x1b" not in result.stderr
