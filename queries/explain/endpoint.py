"""An OpenAI-compatible chat server: what is sent to it, how long it may take, and what counts as its answer."""

import email.utils
import ipaddress
import json
import os
import queue
import re
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from time import sleep
from typing import Any

import httpx2

from neurothek.catalog.problems import Invalid, Refused
from neurothek.catalog.spelling import is_text

Messages = Sequence[Mapping[str, str]]

MOST_BYTES = 2**20
"""Of an answer's body."""

_ATTEMPTS = 4
_BACKOFF_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 60.0
"""A server that wants a longer one is not asked again."""

_AGAIN = frozenset({408, 429, 500, 502, 503, 504, 529})
_FOR_GOOD = frozenset({400, 401, 403, 404, 405, 410, 422})
"""No other question would fare better."""

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Failure:
    """No answer to one question."""

    why: str  # in a few words, none of them the endpoint's
    is_final: bool = False  # whether no other question would be answered either


@dataclass(frozen=True)
class Endpoint:
    """Where questions go, and how."""

    url: str  # of the server's chat completions
    model: str  # the language model, by the name that the server knows
    key: str = field(default="", repr=False)  # sent to the server as a bearer token; empty: none
    timeout_seconds: float = 120.0  # for one whole answer
    answer_tokens: int = 200  # that an answer may have

    @property
    def shown_url(self) -> str:
        """The URL without what may hold a secret."""
        return self.url.partition("?")[0]

    def body(self, messages: Messages) -> dict[str, Any]:
        """One question, as it is sent."""
        return {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "temperature": 0,
            "max_tokens": self.answer_tokens,
            "stream": False,
        }

    def answer(self, messages: Messages) -> str | Failure:
        """What the language model says, or why it says nothing; a server in trouble is asked again a few times."""
        for attempt in range(1, _ATTEMPTS + 1):
            outcome = self._within_time(messages)
            if not isinstance(outcome, _Trouble):
                return outcome
            pause = outcome.retry_seconds
            if pause is None:
                pause = _BACKOFF_SECONDS * 2 ** (attempt - 1)
            if attempt == _ATTEMPTS or pause > _LONGEST_WAIT_SECONDS:
                return Failure(outcome.why)
            sleep(pause)
        raise AssertionError("the last attempt returns")

    def _within_time(self, messages: Messages) -> "str | Failure | _Trouble":
        """One attempt, in a thread that is left alone if the time is over: a server may send a byte a minute."""
        outcomes: queue.Queue[str | Failure | _Trouble] = queue.Queue()
        client = httpx2.Client(
            verify=_certificates(), trust_env=False, follow_redirects=False, timeout=self.timeout_seconds
        )

        def ask() -> None:
            try:
                outcomes.put(self._attempt(client, messages))
            except httpx2.TimeoutException:
                outcomes.put(Failure("timeout"))
            except (httpx2.TransportError, OSError):
                outcomes.put(_Trouble("no connection"))
            except (httpx2.HTTPError, httpx2.StreamError, ValueError, RuntimeError):
                outcomes.put(Failure("unreadable answer"))

        threading.Thread(target=ask, daemon=True, name="explain").start()
        try:
            return outcomes.get(timeout=self.timeout_seconds)
        except queue.Empty:
            return Failure("timeout")
        finally:
            client.close()

    def _attempt(self, client: httpx2.Client, messages: Messages) -> "str | Failure | _Trouble":
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "neurothek"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        with client.stream("POST", self.url, json=self.body(messages), headers=headers) as response:
            if response.is_redirect:
                return Failure("redirect to another address, which is not followed", is_final=True)
            if response.status_code in _AGAIN:
                return _Trouble(f"status {response.status_code}", _retry_after(response.headers.get("Retry-After")))
            if response.status_code != 200:
                return Failure(f"status {response.status_code}", is_final=response.status_code in _FOR_GOOD)
            body = bytearray()
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > MOST_BYTES:
                    return Failure("answer of more than a megabyte")
        return self._text(bytes(body))

    def _text(self, body: bytes) -> str | Failure:
        text = _content(body)
        if isinstance(text, Failure):
            return text
        if self.key and self.key in text:
            # Whatever a server does with it: it is neither stored nor shown.
            return Failure("answer that repeats the key")
        text = _THOUGHT.sub("", text).strip()
        return text or Failure("answer without a text")


def _content(body: bytes) -> str | Failure:
    """The text in the first choice of an answer."""
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        text, reason = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, RecursionError):
        return Failure("answer that is not JSON")
    except (KeyError, IndexError, TypeError, AttributeError):
        return Failure("answer without a text")
    if reason == "length":
        return Failure("answer cut off at its longest")
    if not isinstance(text, str) or not is_text(text) or "\0" in text:
        return Failure("answer without a text")
    return text


@dataclass(frozen=True)
class _Trouble:
    """No answer now, but perhaps soon."""

    why: str
    retry_seconds: float | None = None  # as the server says; None if it does not


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates that servers are trusted by: longer to load than a question to send."""
    return httpx2.create_ssl_context(trust_env=False)


def open_endpoint(
    url: str,
    model: str,
    *,
    key_variable: str = "OPENAI_API_KEY",
    allow_http: bool = False,
    timeout_seconds: float = 120.0,
    answer_tokens: int = 200,
) -> Endpoint:
    """An endpoint that a person named; nothing is sent yet.

    Args:
        url: of the server, with or without /chat/completions at its end.
        model: name of the language model.
        key_variable: the environment variable that holds the key; where it is not set none is sent.
        allow_http: whether other machines may be asked without encryption.
        timeout_seconds: for one whole answer.
        answer_tokens: that an answer may have.
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
    path = parts.path.rstrip("/")
    path = path if path.endswith("/chat/completions") else f"{path}/chat/completions"
    if not model.strip() or not model.isprintable():
        raise Invalid(
            f"{model!r} is not the name of a language model",
            "give the name that the endpoint knows",
            option="--model-name",
            value=model,
        )
    return Endpoint(str(parts.copy_with(path=path)), model.strip(), key, timeout_seconds, answer_tokens)


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
