"""A server that fails in every way: one missing answer each, soon, and nothing sent to anybody else."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from neurothek.catalog.problems import Invalid, Refused
from neurothek.queries.explain import endpoint as module
from neurothek.queries.explain.endpoint import Endpoint, Failure, open_endpoint
from neurothek.queries.explain.judge_calls import _list_of, _one_number
from tests.support.chat_server import Chat, Handler, Reply, chat_server, never_begins, never_ends

MESSAGES = ({"role": "system", "content": "You study"}, {"role": "user", "content": "<<zebra>>"})


@pytest.fixture
def chat() -> Iterator[Chat]:
    with chat_server() as server:
        yield server


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr("neurothek.queries.explain.endpoint.sleep", slept.append)
    return slept


def ask(chat: Chat, reply: Reply | None = None, **more: float) -> str | Failure:
    chat.instead = lambda number: reply
    return open_endpoint(chat.url, "stub", timeout_seconds=more.get("timeout", 10.0)).answer(MESSAGES)


def body(text: bytes, status: int = 200, **headers: str) -> Reply:
    return lambda handler, _: handler.send(status, text, **headers)


def saying(text: object, reason: str = "stop") -> Reply:
    return lambda handler, _: handler.say(text, reason=reason)


def closes(handler: Handler, _: str) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"choices"')
    handler.close_connection = True


def test_an_answer(chat: Chat) -> None:
    assert ask(chat) == "the words zebra"
    (sent,) = chat.requests
    assert sent["model"] == "stub"
    assert (sent["temperature"], sent["max_tokens"], sent["stream"]) == (0, 200, False)
    assert chat.keys == [None]
    assert ask(chat, saying("<think>long\nthoughts</think>\n the answer ")) == "the answer"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (body(b"<html>"), "not JSON"),
        (body(b""), "not JSON"),
        (body(b"[" * 100_000), "not JSON"),
        (body(b'{"choices": []}'), "without a text"),
        (body(b'{"choices": [null]}'), "without a text"),
        (body(b'{"choices": [{"message": "x"}]}'), "without a text"),
        (body(b"[1, 2]"), "without a text"),
        (saying(None), "without a text"),
        (saying(["a"]), "without a text"),
        (saying("  "), "without a text"),
        (saying("\ud800"), "without a text"),
        (saying("a\0b"), "without a text"),
        (saying("<think>no end", "length"), "cut off"),
        (body(b" " * (module.MOST_BYTES + 10)), "more than a megabyte"),
        (body(b"{}", 401), "status 401"),
        (body(b"{}", 418), "status 418"),
        (body(b"", 307, Location="http://example.org/v1/chat/completions"), "redirect"),
        (closes, "no connection"),
        (never_ends, "timeout"),
        (never_begins, "timeout"),
    ],
)
def test_what_is_no_answer(chat: Chat, reply: Reply, why: str, pauses: list[float]) -> None:
    started = time.monotonic()
    answer = ask(chat, reply, timeout=0.5 if "never" in getattr(reply, "__name__", "") else 10.0)
    assert isinstance(answer, Failure)
    assert why in answer.why
    assert answer.is_final == (why in ("status 401", "redirect"))
    assert time.monotonic() - started < 8


def test_a_server_in_trouble_is_left_alone_for_as_long_as_it_says(chat: Chat, pauses: list[float]) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    replies = [body(b"", 429, Retry_After="7"), body(b"", 503), body(b"", 429, Retry_After=soon), None]
    chat.instead = lambda number: replies[number]
    assert open_endpoint(chat.url, "stub").answer(MESSAGES) == "the words zebra"
    assert pauses[:2] == [7, 2]
    assert 20 < pauses[2] <= 30
    chat.requests.clear()
    assert ask(chat, body(b"", 429, Retry_After="600")) == Failure("status 429")
    assert len(chat.requests) == 1
    chat.requests.clear()
    assert ask(chat, body(b"", 500, Retry_After="soon")) == Failure("status 500")
    assert len(chat.requests) == 4


def test_nobody_listens(pauses: list[float]) -> None:
    with chat_server() as gone:
        url = gone.url
    assert open_endpoint(url, "stub").answer(MESSAGES) == Failure("no connection")
    assert pauses == [1, 2, 4]


def test_no_proxy_is_used(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(chat) == "the words zebra"


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("localhost:8000", Invalid),
        ("ftp://localhost/v1", Invalid),
        ("https://", Invalid),
        ("https://me:hidden-word@localhost/v1", Invalid),
        ("https://localhost/v1#part", Invalid),
        ("http://[::1", Invalid),
        ("http://example.org/v1", Refused),
        ("http://localhost.example.org/v1", Refused),
        ("http://127.0.0.1.example.org/v1", Refused),
        ("http://10.0.0.1/v1", Refused),
    ],
)
def test_urls_that_are_refused(url: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as refused:
        open_endpoint(url, "stub")
    assert "hidden-word" not in str(refused.value)


def test_urls_that_are_taken() -> None:
    for url in ("http://localhost:1/v1", "http://127.0.0.1:1/v1/", "http://[::1]:1/v1/chat/completions"):
        assert open_endpoint(url, "stub").url.endswith(":1/v1/chat/completions")
    assert open_endpoint("http://10.0.0.1", "stub", allow_http=True).url == "http://10.0.0.1/chat/completions"
    opened = open_endpoint("https://example.org/v1?version=hidden-word", "stub")
    assert opened.url == "https://example.org/v1/chat/completions?version=hidden-word"
    assert "hidden-word" not in opened.shown_url


def test_a_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "hidden-word")
    opened: Endpoint = open_endpoint("http://localhost", "stub", key_variable="A_KEY")
    assert opened.key == "hidden-word"
    assert "hidden-word" not in repr(opened)
    assert "hidden-word" not in json.dumps(opened.body(MESSAGES))


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (lambda text: _list_of(text, 3), "[1, 0, 1]", [True, False, True]),
        (lambda text: _list_of(text, 3), "As in [1, 2]: [true, false, true].", [True, False, True]),
        (lambda text: _list_of(text, 3), "[1, 0]", None),
        (lambda text: _list_of(text, 3), "[1, 0, 1, 1]", None),
        (lambda text: _list_of(text, 3), "[1, 0, 2]", None),
        (lambda text: _list_of(text, 3), '[1, 0, "1"]', None),
        (lambda text: _list_of(text, 3), "[1, 0, 1.0]", None),
        (lambda text: _list_of(text, 3), "1, 0, 1", None),
        (lambda text: _list_of(text, 3), "[1, 0, ...]", None),
        (lambda text: _one_number(text, 1, 5), "4", 4),
        (lambda text: _one_number(text, 1, 5), "Extract 4 is the odd one: 4.", 4),
        (lambda text: _one_number(text, 1, 5), "3 or 4", None),
        (lambda text: _one_number(text, 1, 5), "6", None),
        (lambda text: _one_number(text, 1, 5), "0.4", None),
        (lambda text: _one_number(text, 1, 5), "none", None),
    ],
)
def test_answers_are_read_whole_or_not(read: Callable[[str], object], text: str, expected: object) -> None:
    answer = read(text)
    assert isinstance(answer, Failure) if expected is None else answer == expected
