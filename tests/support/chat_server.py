"""A chat server with a planted rule: it knows on which words a neuron fires, and judges by its description."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Handler", str], None]


@dataclass
class Chat:
    """What the server knows, and what it was sent."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    # what it does instead of answering, by the number of the request from 0; None: it answers
    instead: Callable[[int], Reply | None] = lambda number: None
    explanation: Callable[[str], str] | None = None  # from a prompt; None: the words that are marked
    at_once: int = 0  # requests under way
    most_at_once: int = 0
    connections: set[tuple[str, int]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, system: str, user: str) -> str:
        """What a language model that understands words would say."""
        if system.startswith("You study"):
            return self.explanation(user) if self.explanation else f"the words {', '.join(marked_words(user))}"
        extracts = re.findall(r"^Extract \d+: (.*)$", user, re.MULTILINE)
        if "number of the odd one" in system:
            return str(odd_one(extracts))
        described = set(words_of(user.split("\n\n", 1)[0].removeprefix("Description: ")))
        if "stand between" in system:
            return json.dumps([int(bool(described & set(marked_words(one)))) for one in extracts])
        return json.dumps([int(bool(described & set(words_of(one)))) for one in extracts])


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def marked_words(text: str) -> list[str]:
    """The words that are marked, the most frequent first."""
    marked = [word for piece in re.findall(r"<<(.*?)>>", text) for word in words_of(piece)]
    return sorted(set(marked), key=lambda word: (-marked.count(word), word))[:3]


def odd_one(extracts: list[str]) -> int:
    """The extract that lacks a word that all others have, from 1; else the first."""
    for number, _ in enumerate(extracts):
        others = [set(words_of(one)) for index, one in enumerate(extracts) if index != number]
        if set.intersection(*others) - set(words_of(extracts[number])):
            return number + 1
    return 1


class Handler(BaseHTTPRequestHandler):
    """Answers as the planted rule says, or as a broken server would."""

    protocol_version = "HTTP/1.1"  # connections that are used again
    chat: Chat
    sent: dict[str, Any]
    is_under_way = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.sent = json.loads(body)
        chat = self.chat
        with chat.lock:
            number = len(chat.requests)
            chat.requests.append(self.sent)
            chat.keys.append(self.headers.get("Authorization"))
            chat.connections.add(self.client_address)
            chat.at_once += 1
            chat.most_at_once = max(chat.most_at_once, chat.at_once)
            self.is_under_way = True
        try:
            # Instructions stand first, of whatever role; made questions with their answers may follow.
            contents = [message["content"] for message in self.sent["messages"]]
            text = chat.answer(contents[0], contents[-1])
            reply = chat.instead(number)
            if reply is None:
                self.say(text)
            else:
                reply(self, text)
        finally:
            self._end()

    def _end(self) -> None:
        """Count a request as done: before the client can send the next one."""
        with self.chat.lock:
            self.chat.at_once -= self.is_under_way
            self.is_under_way = False

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "stub"}, {"id": "other\x1b[2J"}]}
        self.send(200 if self.path.endswith("/v1/models") else 404, json.dumps(models).encode())

    def say(self, text: Any, *, reason: str = "stop") -> None:  # noqa: ANN401 - also what is no text
        self.send(200, json.dumps({"choices": [{"message": {"content": text}, "finish_reason": reason}]}).encode())

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self._end()
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


def never_ends(handler: Handler, _: str) -> None:
    """A byte at a time, for longer than anybody waits."""
    handler.send_response(200)
    handler.end_headers()
    for _byte in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def never_begins(handler: Handler, _: str) -> None:
    """Header by header, for longer than anybody waits."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(200):
        handler.wfile.write(f"X-{number}: 1\r\n".encode())
        handler.wfile.flush()
        time.sleep(0.05)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the library's types
        """A client that waits no longer is no error of ours."""


@contextmanager
def chat_server() -> Iterator[Chat]:
    """A server on a free port of this machine."""
    chat = Chat()
    server = _Server(("127.0.0.1", 0), type("_Handler", (Handler,), {"chat": chat}))
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
