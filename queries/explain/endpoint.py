"""An OpenAI-compatible chat server: where it is, how long it may take, and how several calls at a time share it."""

import email.utils
import ipaddress
import os
import queue
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from time import monotonic
from types import TracebackType
from typing import Any, Self

import httpx2

from neurothek.catalog.problems import Invalid, Refused, Unreadable
from neurothek.queries.explain.wire import (
    Dialect,
    Failure,
    Messages,
    ServerError,
    answer_text,
    is_of_the_model,
    model_names,
    refusal,
    server_error,
)

MOST_BYTES = 2**20
"""Of an answer's body."""

MOST_PARALLEL = 256

_ATTEMPTS = 4
_BACKOFF_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 60.0
"""A server that wants a longer one is not asked again."""

_MOST_WAYS = 6
"""An address, another one, and three settings that a server may not take."""

_LEAVING_SECONDS = 1.0
_LISTING_SECONDS = 10.0
_SHOWN_NAMES = 10

_AGAIN = frozenset({408, 429, 500, 502, 503, 504, 529})

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_IS_IT_ON = "start the server, or correct the host and port of --endpoint"
_IS_IT_SOUND = "see what the server writes of it, and whether it is asked with http or https as it wants"
_ITS_CERTIFICATE = "name a file that holds its certificate in the environment variable SSL_CERT_FILE"
_LATER = (
    "raise --timeout, or lower --parallel: of calls that a server takes one at a time, each waits for those before it"
)


@dataclass(frozen=True)
class Endpoint:
    """Where questions go, and how."""

    url: str  # of the server's chat completions
    model: str  # the language model, by the name that the server knows
    key: str = field(default="", repr=False)  # sent to the server as a bearer token; empty: none
    timeout_seconds: float = 120.0  # for one whole answer
    answer_tokens: int = 200  # that an answer may have
    parallel: int = 4  # calls at a time
    other_url: str = ""  # on the same server, where nothing is at `url`; empty: none

    @property
    def shown_url(self) -> str:
        """The URL without what may hold a secret."""
        return self.url.partition("?")[0]


@dataclass(frozen=True)
class _Way:
    """An address and a dialect: what calls use until the server wants others."""

    url: str
    dialect: Dialect


@dataclass(frozen=True)
class _Reply:
    """What a server sends back."""

    status: int
    body: bytes
    retry_seconds: float | None = None  # as the server says; None if it does not


@dataclass(frozen=True)
class _Trouble:
    """No answer now, but perhaps soon."""

    failure: Failure
    retry_seconds: float | None = None
    is_away: bool = False  # nobody was reached at all


class Session:
    """Calls to an endpoint, from several threads: they share connections, what it takes, and when it wants rest."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._way = _Way(endpoint.url, Dialect())
        self._idle: list[httpx2.Client] = []
        self._busy: set[httpx2.Client] = set()
        self._sockets: dict[httpx2.Client, socket.socket] = {}
        self._threads: set[threading.Thread] = set()
        self._rest_until = 0.0
        self._has_answered = False
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send nothing any more, and wait for nobody: calls under way end without an answer."""
        self._closed.set()
        with self._lock:
            clients, threads = [*self._idle, *self._busy], list(self._threads)
        for client in clients:
            self._hang_up(client)
        # None is left at the end of the program, which would complain of what it holds.
        until = monotonic() + _LEAVING_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - monotonic()))

    def _hang_up(self, client: httpx2.Client) -> None:
        """End a connection, also under a thread that waits for its next byte."""
        connection = self._sockets.pop(client, None)
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        client.close()

    @property
    def dialect(self) -> Dialect:
        """What the server takes, as far as it is known."""
        return self._way.dialect

    def answer(self, messages: Messages) -> str | Failure:
        """What the language model says, or why it says nothing; a server in trouble is asked again a few times."""
        for attempt in range(1, _ATTEMPTS + 1):
            self._rest()
            if self._closed.is_set():
                break
            outcome = self._exchange(messages)
            if not isinstance(outcome, _Trouble):
                return outcome
            if outcome.is_away and not self._has_answered:
                return replace(outcome.failure, is_final=True)
            pause = outcome.retry_seconds
            if pause is None:
                pause = _BACKOFF_SECONDS * 2 ** (attempt - 1)
            if attempt == _ATTEMPTS or pause > _LONGEST_WAIT_SECONDS:
                return outcome.failure
            with self._lock:
                self._rest_until = max(self._rest_until, monotonic() + pause)
        return Failure("not sent")

    def _rest(self) -> None:
        """Leave the server alone for as long as it wants, whichever call it said so to."""
        while (seconds := self._rest_until - monotonic()) > 0 and not self._closed.is_set():
            self._pause(seconds)

    def _pause(self, seconds: float) -> None:
        self._closed.wait(seconds)

    def _exchange(self, messages: Messages) -> str | Failure | _Trouble:
        """One attempt, in other words or at another address where the server says that it takes no such question."""
        way = self._way
        for _ in range(_MOST_WAYS):
            outcome = self._within_time(way, messages)
            if not isinstance(outcome, _Reply):
                return outcome
            if outcome.status == 200:
                return self._read(way, outcome)
            error = server_error(outcome.body)
            other = self._other_way(way, outcome, error)
            if other is None:
                return self._refusal(outcome, error)
            way = other
        raise AssertionError("every way is tried once")

    def _read(self, way: _Way, reply: _Reply) -> str | Failure:
        text = answer_text(reply.body, self._endpoint.key)
        with self._lock:
            if not isinstance(text, Failure) or text.is_answered:
                self._has_answered, self._way = True, way
            elif not self._has_answered and text.why == "answer that is not JSON":
                # A page for people: another address than that of the server.
                text = replace(text, is_final=True)
        return text

    def _other_way(self, way: _Way, reply: _Reply, error: ServerError) -> _Way | None:
        is_new = not self._has_answered
        if reply.status in (404, 405) and is_new and not is_of_the_model(error):
            return replace(way, url=self._endpoint.other_url) if way.url != self._endpoint.other_url != "" else None
        other = way.dialect.after(error) if reply.status in (400, 422, 500, 501) else None
        if other is None and reply.status == 500 and is_new and way.dialect.has_system:
            # Some say no more of a language model that knows no instructions of the system.
            other = replace(way.dialect, has_system=False)
        return None if other is None else replace(way, dialect=other)

    def _refusal(self, reply: _Reply, error: ServerError) -> Failure | _Trouble:
        failure = refusal(reply.status, error, self._endpoint.key)
        if failure.why == "no language model of that name":
            return replace(failure, advice=self._known_models())
        is_over = failure.is_final or failure.why != f"status {reply.status}"
        return _Trouble(failure, reply.retry_seconds) if reply.status in _AGAIN and not is_over else failure

    def _known_models(self) -> str:
        """The names that --model-name may have, if the server tells them."""
        listing = replace(self._endpoint, timeout_seconds=min(_LISTING_SECONDS, self._endpoint.timeout_seconds))
        url = self._way.url.partition("?")[0].removesuffix("/chat/completions") + "/models"
        outcome = self._within_time(_Way(url, Dialect()), None, listing)
        names = model_names(outcome.body, self._endpoint.key) if isinstance(outcome, _Reply) else []
        if not names:
            return "give --model-name as the server's list of models has it"
        more = f" and {len(names) - _SHOWN_NAMES:,} others" if len(names) > _SHOWN_NAMES else ""
        return f"give --model-name one of {', '.join(names[:_SHOWN_NAMES])}{more}"

    def _within_time(
        self, way: _Way, messages: Messages | None, endpoint: Endpoint | None = None
    ) -> _Reply | Failure | _Trouble:
        """One request, in a thread that is left alone if the time is over: a server may send a byte a minute."""
        endpoint = endpoint or self._endpoint
        outcomes: queue.Queue[_Reply | Failure | _Trouble] = queue.Queue()
        client, is_used = self._client()

        def ask() -> None:
            outcomes.put(self._attempt(client, way, messages))
            with self._lock:
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=ask, daemon=True, name="explain-request")
        with self._lock:
            self._threads.add(thread)
        thread.start()
        try:
            outcome = outcomes.get(timeout=endpoint.timeout_seconds)
        except queue.Empty:
            outcome = Failure("timeout", advice=_LATER)
        is_sound = isinstance(outcome, _Reply)
        with self._lock:
            self._busy.discard(client)
            if is_sound:
                self._idle.append(client)
        if not is_sound:
            self._hang_up(client)
        if is_used and isinstance(outcome, _Trouble) and not self._closed.is_set():
            # The server had hung up meanwhile.
            return self._within_time(way, messages, endpoint)
        return outcome

    def _client(self) -> tuple[httpx2.Client, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            is_used = bool(self._idle)
            client = self._idle.pop() if is_used else self._new_client()
            self._busy.add(client)
        return client, is_used

    def _new_client(self) -> httpx2.Client:
        seconds = self._endpoint.timeout_seconds
        return httpx2.Client(verify=_certificates(), trust_env=False, follow_redirects=False, timeout=seconds)

    def _attempt(self, client: httpx2.Client, way: _Way, messages: Messages | None) -> _Reply | Failure | _Trouble:
        try:
            return self._request(client, way, messages)
        except httpx2.TimeoutException:
            return Failure("timeout", advice=_LATER)
        except (httpx2.TransportError, OSError) as error:
            return _unreached(error)
        except (httpx2.HTTPError, httpx2.StreamError, ValueError, RuntimeError):
            return Failure("unreadable answer")

    def _request(self, client: httpx2.Client, way: _Way, messages: Messages | None) -> _Reply | Failure:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "neurothek"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"

        def connected(event: str, details: Mapping[str, Any]) -> None:
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                self._sockets[client] = details["return_value"].get_extra_info("socket")

        method, sent = ("GET", None) if messages is None else ("POST", self._body(way, messages))
        extensions = {"trace": connected}
        with client.stream(method, way.url, json=sent, headers=headers, extensions=extensions) as response:
            if response.is_redirect:
                return Failure("redirect to another address, which is not followed", is_final=True)
            body = bytearray()
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > MOST_BYTES:
                    return Failure("answer of more than a megabyte", is_answered=True)
        return _Reply(response.status_code, bytes(body), _retry_after(response.headers.get("Retry-After")))

    def _body(self, way: _Way, messages: Messages) -> dict[str, object]:
        return way.dialect.body(self._endpoint.model, messages, self._endpoint.answer_tokens)


def _unreached(error: Exception) -> Failure | _Trouble:
    """Why a server was not reached."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 20:
        causes.append(cause)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return Failure("certificate that is not trusted", is_final=True, advice=_ITS_CERTIFICATE)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Failure("no https at that port", is_final=True, advice="correct the scheme or the port of --endpoint")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return _Trouble(Failure("no such host", advice=_IS_IT_ON), is_away=True)
    if isinstance(error, httpx2.ConnectError):
        return _Trouble(Failure("no connection", advice=_IS_IT_ON), is_away=True)
    return _Trouble(Failure("connection that ends too soon", advice=_IS_IT_SOUND))


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates that servers are trusted by, or those that SSL_CERT_FILE names: longer to load than to send."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        path, why = os.environ.get("SSL_CERT_FILE", ""), error.strerror or "it holds no certificate"
        raise Unreadable(
            f"the certificates in {path or 'SSL_CERT_DIR'} cannot be read: {why}",
            "name a file of certificates in the environment variable SSL_CERT_FILE, or unset it",
            path=path,
            why=why,
        ) from error


def open_endpoint(
    url: str,
    model: str,
    *,
    key_variable: str = "OPENAI_API_KEY",
    allow_http: bool = False,
    timeout_seconds: float = 120.0,
    answer_tokens: int = 200,
    parallel: int = 4,
) -> Endpoint:
    """An endpoint that a person named; nothing is sent yet.

    Args:
        url: of the server, with or without /v1 and /chat/completions at its end.
        model: name of the language model.
        key_variable: the environment variable that holds the key; where it is not set none is sent.
        allow_http: whether other machines may be asked without encryption.
        timeout_seconds: for one whole answer.
        answer_tokens: that an answer may have.
        parallel: calls at a time.
    """
    key = _key(key_variable)
    try:
        parts = httpx2.URL(url.strip())
    except (httpx2.InvalidURL, ValueError, UnicodeError):
        raise _invalid_url(url, "it cannot be read") from None
    if parts.scheme not in ("http", "https") or not parts.host:
        raise _invalid_url(url, "it has no scheme or no host")
    if parts.userinfo:
        # Not repeated: it holds a password.
        raise Invalid(
            "the endpoint holds a user name or password",
            "leave them out, and put the key into an environment variable: see --key-variable",
            option="--endpoint",
        )
    if parts.fragment:
        raise _invalid_url(url, "it has a fragment")
    if parts.scheme == "http" and not allow_http and not _is_local(parts.host):
        raise Refused(
            f"{parts.host} would be sent contexts, and the key if there is one, without encryption",
            "use https, or allow it with --allow-http",
            what=parts.host,
            why="http to another machine",
        )
    first, *others = _paths(parts.path.rstrip("/"))
    return Endpoint(
        str(parts.copy_with(path=first)),
        _model_name(model),
        key,
        timeout_seconds,
        answer_tokens,
        parallel,
        str(parts.copy_with(path=others[0])) if others else "",
    )


def _model_name(model: str) -> str:
    if not model.strip() or not model.isprintable():
        raise Invalid(
            f"{model!r} is not the name of a language model",
            "give the name that the endpoint knows",
            option="--model-name",
            value=model,
        )
    return model.strip()


def _paths(path: str) -> list[str]:
    """Where chat completions may be: as was said, or below /v1 where people leave that out."""
    if path.endswith("/chat/completions"):
        return [path]
    if path.endswith("/v1"):
        return [f"{path}/chat/completions"]
    both = [f"{path}/chat/completions", f"{path}/v1/chat/completions"]
    return both if path else both[::-1]


def _key(variable: str) -> str:
    if not _VARIABLE.fullmatch(variable):
        # A key that was given in place of its variable's name is not repeated.
        raise Invalid(
            "the key variable is not the name of an environment variable",
            "give the name of the variable that holds the key, such as OPENAI_API_KEY",
            option="--key-variable",
        )
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Invalid(
            f"{variable} holds no key: it has white space or characters that no key has",
            "set it to the key alone",
            option="--key-variable",
        )
    return key


def _invalid_url(url: str, why: str) -> Invalid:
    shown_url = url.partition("?")[0]
    return Invalid(
        f"the endpoint {url.partition('?')[0]!r} is not valid: {why}",
        "give a URL such as http://localhost:8000/v1",
        option="--endpoint",
        value=shown_url,
    )


def _is_local(host: str) -> bool:
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _retry_after(header: str | None) -> float | None:
    """Seconds that a server asks to be left alone."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            until = email.utils.parsedate_to_datetime(header)
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124 - not a number is none
