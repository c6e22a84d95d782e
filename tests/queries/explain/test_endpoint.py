"""A server that fails in every way: one missing answer each, soon, and nothing sent to anybody else."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import pytest

from neurothek.catalog.problems import Invalid, Refused, Unreadable
from neurothek.queries.explain import endpoint as module
from neurothek.queries.explain.endpoint import Endpoint, Session, open_endpoint
from neurothek.queries.explain.judge_calls import _list_of, _one_number
from neurothek.queries.explain.wire import Dialect, Failure
from tests.support.chat_server import Chat, Handler, Reply, chat_server, never_begins, never_ends

MESSAGES = ({"role": "system", "content": "You study"}, {"role": "user", "content": "<<zebra>>"})


@pytest.fixture
def chat() -> Iterator[Chat]:
    with chat_server() as server:
        yield server


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What a session waits for, on a clock that moves by that alone."""
    slept: list[float] = []
    monkeypatch.setattr(module, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(Session, "_pause", lambda _, seconds: slept.append(seconds))
    return slept


def answer_of(endpoint: Endpoint) -> str | Failure:
    with Session(endpoint) as session:
        return session.answer(MESSAGES)


def ask(chat: Chat, reply: Reply | None = None, **more: float) -> str | Failure:
    chat.instead = lambda number: reply
    return answer_of(open_endpoint(chat.url, "stub", timeout_seconds=more.get("timeout", 10.0)))


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
        (saying([{"type": "image_url"}]), "without a text"),
        (saying(None, "length"), "cut off"),
        (saying("<think>no end"), "without a text"),
        (saying("<think>one</think><think>two"), "without a text"),
        (body(b"data: {}\n\ndata: [1]\n\n"), "without a text"),
        (body(b'{"error": {"message": "no", "code": 400}}'), "status 200"),
        (body(b"{}", 401), "status 401"),
        (body(b"{}", 418), "status 418"),
        (body(b"", 307, Location="http://example.org/v1/chat/completions"), "redirect"),
        (closes, "ends too soon"),
        (never_ends, "timeout"),
        (never_begins, "timeout"),
    ],
)
def test_what_is_no_answer(chat: Chat, reply: Reply, why: str, pauses: list[float]) -> None:
    started = time.monotonic()
    answer = ask(chat, reply, timeout=0.5 if "never" in getattr(reply, "__name__", "") else 10.0)
    assert isinstance(answer, Failure)
    assert why in answer.why
    assert answer.is_final == (why in ("status 401", "redirect", "not JSON"))
    assert time.monotonic() - started < 8


def test_a_server_in_trouble_is_left_alone_for_as_long_as_it_says(chat: Chat, pauses: list[float]) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    replies = [body(b"", 429, Retry_After="7"), body(b"", 503), body(b"", 429, Retry_After=soon), None]
    chat.instead = lambda number: replies[number]
    assert answer_of(open_endpoint(chat.url, "stub")) == "the words zebra"
    assert pauses[:2] == [7, 2]
    assert 20 < pauses[2] <= 30
    chat.requests.clear()
    assert ask(chat, body(b"", 429, Retry_After="600")) == Failure("status 429")
    assert len(chat.requests) == 1
    chat.requests.clear()
    assert ask(chat, body(b"", 502, Retry_After="soon")) == Failure("status 502")
    assert len(chat.requests) == 4


def test_nobody_listens(pauses: list[float]) -> None:
    with chat_server() as gone:
        url = gone.url
    assert answer_of(open_endpoint(url, "stub")) == Failure("no connection", is_final=True)
    assert pauses == []
    assert answer_of(open_endpoint("http://no-such-host.localhost.invalid", "stub", allow_http=True)) == Failure(
        "no such host", is_final=True
    )


def test_why_a_server_is_not_reached_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for cause, why, advice in (
        (ssl.SSLCertVerificationError("self-signed"), "certificate that is not trusted", "SSL_CERT_FILE"),
        (ssl.SSLError("wrong version number"), "no https at that port", "scheme"),
        (socket.gaierror("unknown"), "no such host", "--endpoint"),
        (ConnectionRefusedError(), "no connection", "start the server"),
    ):
        error = httpx2.ConnectError("no")
        error.__cause__ = cause
        outcome = module._unreached(error)
        failure = outcome if isinstance(outcome, Failure) else outcome.failure
        assert failure.why == why
        assert advice in failure.advice
    module._certificates.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nowhere.pem"))
    with pytest.raises(Unreadable, match=r"nowhere\.pem cannot be read"):
        answer_of(open_endpoint("https://127.0.0.1:9", "stub"))
    module._certificates.cache_clear()


def test_a_server_that_goes_may_come_back(pauses: list[float]) -> None:
    with chat_server() as chat:
        session = Session(open_endpoint(chat.url, "stub"))
        assert session.answer(MESSAGES) == "the words zebra"
        chat.instead = lambda number: closes
        assert session.answer(MESSAGES) == Failure("connection that ends too soon")
    with session:
        assert session.answer(MESSAGES) == Failure("no connection")
    assert pauses == [1, 2, 4, 1, 2, 4]


def test_connections_are_used_again(chat: Chat) -> None:
    with Session(open_endpoint(chat.url, "stub")) as session:
        for _ in range(5):
            assert session.answer(MESSAGES) == "the words zebra"
    assert len(chat.requests) == 5
    assert len(chat.connections) == 1


def test_a_connection_that_the_server_ends_is_opened_again_at_once(chat: Chat, pauses: list[float]) -> None:
    def last(handler: Handler, text: str) -> None:
        handler.say(text)
        handler.close_connection = True

    chat.instead = lambda number: last
    with Session(open_endpoint(chat.url, "stub")) as session:
        for _ in range(5):
            assert session.answer(MESSAGES) == "the words zebra"
    assert pauses == []


def test_rest_that_a_server_wants_is_for_all_calls(chat: Chat, pauses: list[float]) -> None:
    chat.instead = lambda number: body(b"", 429, Retry_After="30") if number == 0 else None
    with Session(open_endpoint(chat.url, "stub")) as session:
        assert session.answer(MESSAGES) == "the words zebra"
        assert pauses == [30]
        session._rest_until = 40
        assert session.answer(MESSAGES) == "the words zebra"
        assert pauses == [30, 10]


def test_a_session_that_is_closed_sends_nothing(chat: Chat) -> None:
    chat.instead = lambda number: body(b"", 503, Retry_After="50")
    session = Session(open_endpoint(chat.url, "stub"))
    threading.Timer(0.3, session.close).start()
    started = time.monotonic()
    assert session.answer(MESSAGES) == Failure("not sent")
    assert time.monotonic() - started < 20
    assert session.answer(MESSAGES) == Failure("not sent")
    assert len(chat.requests) == 1


def test_a_session_that_is_closed_leaves_no_thread_that_waits(chat: Chat) -> None:
    for reply in (never_begins, never_ends, lambda handler, _: time.sleep(20)):
        before = set(threading.enumerate())
        chat.instead = lambda number, reply=reply: reply  # type: ignore[misc]  # mypy does not infer it
        session = Session(open_endpoint(chat.url, "stub"))
        threading.Timer(0.3, session.close).start()
        started = time.monotonic()
        assert isinstance(session.answer(MESSAGES), Failure)
        assert time.monotonic() - started < 10
        waiting = [one for one in set(threading.enumerate()) - before if one.name.startswith("explain")]
        for one in waiting:
            one.join(5)
            assert not one.is_alive()


def chunked(handler: Handler, text: str) -> None:
    """As servers answer that do not know how long it will be."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    whole = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
    for first in range(0, len(whole), 7):
        piece = whole[first : first + 7]
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    handler.wfile.write(b"0\r\n\r\n")


def refused(message: str, status: int = 400, **more: str) -> Reply:
    return body(json.dumps({"error": {"message": message, **more}}).encode(), status)


# What servers said of settings that they do not take, in 2024 to 2026.
LIMIT = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."
SYSTEM = (
    refused("System role not supported"),
    refused("Conversation roles must alternate user/assistant/user/assistant/..."),
    refused("Only user and assistant roles are supported!", 500),
    body(b'{"object":"error","message":"System role not supported","type":"BadRequestError","code":400}', 400),
    body(b"Internal Server Error", 500),
)


@pytest.mark.parametrize("reply", SYSTEM)
def test_a_language_model_without_a_system_role_reads_instructions_of_the_user(chat: Chat, reply: Reply) -> None:
    def picky(handler: Handler, text: str) -> None:
        has_system = any(message["role"] == "system" for message in handler.sent["messages"])
        reply(handler, text) if has_system else handler.say(text)

    chat.instead = lambda number: picky
    with Session(open_endpoint(chat.url, "stub")) as session:
        assert session.answer(MESSAGES) == "the words zebra"
        assert session.answer(MESSAGES) == "the words zebra"
    assert [len(one["messages"]) for one in chat.requests] == [2, 1, 1]
    assert chat.requests[1]["messages"] == [{"role": "user", "content": "You study\n\n<<zebra>>"}]


def test_settings_that_a_language_model_does_not_take_are_left_out(chat: Chat) -> None:
    def picky(handler: Handler, text: str) -> None:
        if "max_tokens" in handler.sent:
            refused(LIMIT, param="max_tokens", code="unsupported_parameter")(handler, text)
        elif "temperature" in handler.sent:
            refused(TEMPERATURE, param="temperature", code="unsupported_value")(handler, text)
        else:
            handler.say(text)

    chat.instead = lambda number: picky
    with Session(open_endpoint(chat.url, "stub", answer_tokens=77)) as session:
        assert session.answer(MESSAGES) == "the words zebra"
        assert session.answer(MESSAGES) == "the words zebra"
        (told,) = session.dialect.sentences()
    assert "drawn" in told
    assert [sorted(set(one) - {"messages", "model", "stream"}) for one in chat.requests] == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        *([["max_completion_tokens"]] * 2),
    ]
    assert chat.requests[-1]["max_completion_tokens"] == 77


@pytest.mark.parametrize(
    ("given", "served"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/api", "/api/v1/chat/completions"),
        ("/openai/deployments/x", "/openai/deployments/x/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
    ],
)
def test_an_address_may_lack_its_version(chat: Chat, given: str, served: str) -> None:
    def at(handler: Handler, text: str) -> None:
        handler.say(text) if handler.path == served else handler.send(404, b"404 page not found")

    chat.instead = lambda number: at
    endpoint = open_endpoint(chat.url.removesuffix("/v1") + given, "stub")
    with Session(endpoint) as session:
        assert session.answer(MESSAGES) == "the words zebra"
        assert session.answer(MESSAGES) == "the words zebra"
    assert len(chat.requests) <= 3


@pytest.mark.parametrize(
    ("reply", "why", "advice"),
    [
        (refused("the request exceeds the available context size, try increasing it"), "too long", "--max-model-len"),
        (refused("This model's maximum context length is 2048 tokens. However, you", 400), "too long", "--ctx-size"),
        (
            body(b'{"error":"`inputs` tokens + `max_new_tokens` must be <= 512","error_type":"validation"}', 422),
            "too long",
            "OLLAMA_CONTEXT_LENGTH",
        ),
        (refused("Context size has been exceeded.", 500), "too long", "--answer-tokens"),
        (refused('model "stub" not found, try pulling it first', 404), "no language model", "one of other"),
        (body(b'{"message":"The model `x` does not exist.","code":404}', 404), "no language model", "stub"),
        (refused("Incorrect API key provided: sk-x", 401), "status 401", "--key-variable"),
        (refused("You exceeded your quota", 429, code="insufficient_quota"), "status 429", "account"),
        (body(b'{"detail":"Not Found"}', 404), "no chat completions at that address", "base URL"),
        (body(b'{"detail":[{"loc":["body"],"msg":"Field required"}]}', 422), "status 422", ""),
        (body(b'{"error":"Unexpected endpoint or method. (POST /x)"}'), "no chat completions", "base URL"),
        (saying("...", "length"), "cut off", "--answer-tokens"),
    ],
)
def test_what_servers_say_is_told_with_what_to_do(chat: Chat, reply: Reply, why: str, advice: str) -> None:
    answer = ask(chat, reply)
    assert isinstance(answer, Failure)
    assert why in answer.why
    assert advice in answer.advice
    assert "\x1b" not in answer.advice


def test_words_of_a_server_are_harmless_and_do_not_hold_the_key(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hidden-word")
    answer = ask(chat, refused("\x1b[2J no\n hidden-word \u202e" + 1_000 * "x", 401))
    assert isinstance(answer, Failure)
    assert answer.quote.startswith(r"\x1b[2J no (the key) \u202e")
    assert len(answer.quote) < 250


STREAM = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n' + b"".join(
    b'data: {"choices": [{"delta": {"content": "%s"}, "finish_reason": null}]}\n\n' % piece for piece in (b"a ", b"b")
)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (chunked, "the words zebra"),
        (saying("```\nnames of months\n```"), "names of months"),
        (saying("```json\n[1, 0]\n```"), "[1, 0]"),
        (saying("the fence ``` in code"), "the fence ``` in code"),
        (saying("thoughts without a beginning\n</think>\n\nnames"), "names"),
        (saying("<thinking>a</thinking>names"), "names"),
        (saying("[THINK]a[/THINK]names"), "names"),
        (saying("the token </think> and what follows"), "the token </think> and what follows"),
        (saying([{"type": "text", "text": "names "}, {"type": "text", "text": "of"}]), "names of"),
        (body(b'{"choices": [{"message": {"content": "no reason, no usage"}}]}'), "no reason, no usage"),
        (body(b'\xef\xbb\xbf{"choices": [{"message": {"content": "a mark"}}]}'), "a mark"),
        (body(STREAM + b'data: {"choices": [], "usage": {}}\n\ndata: [DONE]\n\n'), "a b"),
    ],
)
def test_answers_in_many_wrappings(chat: Chat, reply: Reply, expected: str) -> None:
    assert ask(chat, reply) == expected


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
    bare = open_endpoint("http://10.0.0.1", "stub", allow_http=True)
    assert (bare.url, bare.other_url) == ("http://10.0.0.1/v1/chat/completions", "http://10.0.0.1/chat/completions")
    opened = open_endpoint("https://example.org/v1?version=hidden-word", "stub")
    assert opened.url == "https://example.org/v1/chat/completions?version=hidden-word"
    assert "hidden-word" not in opened.shown_url


def test_a_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "hidden-word")
    opened: Endpoint = open_endpoint("http://localhost", "stub", key_variable="A_KEY")
    assert opened.key == "hidden-word"
    assert "hidden-word" not in repr(opened)
    assert "hidden-word" not in json.dumps(Dialect().body(opened.model, MESSAGES, opened.answer_tokens))


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
