"""The dashboard speaks to nobody else, and is spoken to by its own pages alone."""

import json
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import duckdb
import pytest
import streamlit
from starlette.datastructures import Headers

from neurothek.cli.dashboard import LOCAL_HOSTS
from neurothek.dashboards.addresses import OTHER_NAMES, PAGES
from neurothek.dashboards.server import is_of_own_page
from tests.support.browser import served
from tests.support.loopback import Confined
from tests.support.visits import run_page

HUB_MODEL = "nobody/has-this-model"


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Confined:
    return Confined(tmp_path_factory.mktemp("confined") / "site")


@pytest.fixture(scope="module")
def server(full_path: Path, confined: Confined, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard in a process that may reach nobody; the weights of its models are on the hub."""
    folder = tmp_path_factory.mktemp("served")
    path = folder / "copy.duckdb"
    path.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"update store.models set source = '{HUB_MODEL}'")
    with served(path, folder / "server.log", environment=confined.environment) as address:
        yield address


def handshake(base: str, *headers: str, path: str = "/_stcore/stream", host: str | None = None) -> int:
    """The status that answers a WebSocket's first request with these headers."""
    place = base.removeprefix("http://")
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {place if host is None else host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        *headers,
    ]
    name, port = place.split(":")
    with socket.create_connection((name, int(port)), timeout=30) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(connection.recv(100).split()[1])


def fetched(address: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
        body: bytes = answer.read()
        return body


def test_only_the_very_address_is_an_own_page(subtests: pytest.Subtests) -> None:
    for origin, is_own in [
        (None, True),
        ("http://localhost:8501", True),
        ("https://localhost:8501", True),
        ("HTTP://LocalHost:8501", True),
        ("http://localhost:8502", False),
        ("http://localhost", False),
        ("http://localhost:85010", False),
        ("http://127.0.0.1:8501", False),
        ("http://evil.example", False),
        ("http://evil.example:8501", False),
        ("http://localhost:8501.evil.example", False),
        ("http://localhost:8501@evil.example", False),
        ("ftp://localhost:8501", False),
        ("null", False),
        ("", False),
    ]:
        with subtests.test(origin=origin, is_own=is_own):
            headers = {"host": "localhost:8501"} | ({} if origin is None else {"origin": origin})
            assert is_of_own_page(Headers(headers)) is is_own


def test_an_origin_without_one_host_is_nobodys() -> None:
    origin = (b"origin", b"http://localhost:8501")
    host = (b"host", b"localhost:8501")
    assert is_of_own_page(Headers(raw=[origin, host]))
    assert not is_of_own_page(Headers(raw=[origin]))
    assert not is_of_own_page(Headers(raw=[origin, host, host]))
    assert not is_of_own_page(Headers(raw=[origin, origin, host]))


def test_a_process_that_is_confined_reaches_nobody(confined: Confined) -> None:
    """The control: what the other tests look for would be seen."""
    code = "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=1)"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=dict(confined.environment), capture_output=True, text=True, check=False
    )
    assert "may speak to this machine alone" in ended.stderr
    assert any("192.0.2.1" in line for line in confined.tried())
    confined.forget()


def test_pages_of_others_are_refused_and_nobody_is_asked(server: str, confined: Confined) -> None:
    port = server.rpartition(":")[2]
    assert handshake(server) == 101
    assert handshake(server, f"Origin: {server}") == 101
    assert handshake(server, f"Origin: http://localhost:{port}", host=f"localhost:{port}") == 101
    for origin in (
        *("http://localhost:1", "http://127.0.0.1:1", "http://127.0.0.1", "http://0.0.0.0:1"),
        *(
            "http://evil.example",
            f"http://evil.example:{port}",
            f"http://localhost:{port}",
            "https://192.0.2.7",
            "null",
        ),
    ):
        assert handshake(server, f"Origin: {origin}") == 403, origin
    # A name that was bound anew to this machine.
    assert handshake(server, host="evil.example") == 403
    assert handshake(server, "Origin: http://evil.example", host="evil.example") == 403
    assert handshake(server, f"Origin: http://evil.example:{port}", host=f"evil.example:{port}") == 403
    with pytest.raises(urllib.error.HTTPError, match="403"):
        fetched(f"{server}/_stcore/host-config", Origin="http://localhost:1")
    assert confined.tried() == []


FOREIGN_HOSTS = ("evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "localhost@evil.example", "")
"""What a page asks by whose own name was bound anew to this machine."""


def answered(base: str, path: str, *headers: str, method: str = "GET") -> int:
    """The status that answers a raw request with these headers and no others."""
    name, port = base.removeprefix("http://").split(":")
    with socket.create_connection((name, int(port)), timeout=30) as connection:
        lines = [f"{method} {path} HTTP/1.1", "Connection: close", "Content-Length: 0", *headers]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(connection.recv(100).split()[1])


def test_a_foreign_name_is_refused_on_every_path(server: str) -> None:
    port = server.rpartition(":")[2]
    linked = re.findall(r'(?:src|href)="/?([^":#]+)"', fetched(f"{server}/").decode())
    editor = "/component/code_editor.streamlit_code_editor/index.html"
    paths = [
        *(f"/{name}" for name in ("", *PAGES, *OTHER_NAMES, "nothing-of-this-name", *linked)),
        *("/_stcore/health", "/_stcore/host-config", "/_stcore/metrics", "/_stcore/stream", "/_stcore/upload_file/a/b"),
        *("/media/0.png", "/app/static/a.txt", editor, "/healthz", "/robots.txt", "//evil.example/", "/a/../b"),
    ]
    let_in = [
        f"{method} {path} by {host!r}: {status}"
        for path in paths
        for method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")
        for host in (FOREIGN_HOSTS if method == "GET" else FOREIGN_HOSTS[:1])
        if (status := answered(server, path, f"Host: {host.format(port=port)}", method=method)) not in (400, 403)
    ]
    assert let_in == []
    assert answered(server, "/") == 400, "a request that names nobody"
    assert answered(server, "/", f"Host: localhost:{port}", "Host: evil.example") in (400, 403)
    # The control: by its own names it answers.
    assert [answered(server, path, f"Host: {host}:{port}") for path in paths[:3] for host in LOCAL_HOSTS] == [200] * 6


def test_pages_and_what_they_are_made_of_come_from_here(server: str, confined: Confined) -> None:
    for name in ("", *PAGES):
        page = fetched(f"{server}/{name}").decode()
        linked = re.findall(r'(?:src|href)="([^"#]+)"', page)
        assert len(linked) >= 3
        for link in linked:
            assert urljoin(f"{server}/", link).startswith(f"{server}/"), link
    for link in linked:
        assert fetched(urljoin(f"{server}/", link))
    static = Path(streamlit.__file__).with_name("static")
    fonts = sorted(static.rglob("*.woff2"))
    assert len(fonts) >= 3
    for font in fonts[:3]:
        assert fetched(f"{server}/{font.relative_to(static).as_posix()}") == font.read_bytes()
    assert json.loads(fetched(f"{server}/_stcore/host-config"))
    assert confined.tried() == []


def test_pages_run_and_ask_nobody(server: str, confined: Confined) -> None:
    neuron = "tiny-1m/L0N0"
    assert neuron in run_page(server, "neuron", neuron=neuron)
    assert "A word, a prompt of three words" in run_page(server, "")
    assert "tiny-1m" in run_page(server, "search", words="school")
    assert "answered" in run_page(server, "sql", query="select 'answ' || 'ered' as a")
    # The weights of these models would have to be fetched.
    assert "the hub cannot be reached" in run_page(server, "trace", model="tiny-1m", prompt="The capital")
    assert confined.tried() == []


@contextmanager
def opened(path: Path, confined: Confined, log: Path, *hosts: str) -> Iterator[str]:
    options = [option for host in hosts for option in ("--host", host)]
    with served(path, log, *options, environment=confined.environment) as address:
        yield address


@pytest.mark.parametrize("hosts", [("0.0.0.0",), ("localhost", "127.0.0.1")], ids=["wide", "names"])
def test_a_server_that_is_opened_wider_asks_nobody_either(
    full_path: Path, confined: Confined, tmp_path: Path, hosts: tuple[str, ...]
) -> None:
    with opened(full_path, confined, tmp_path / "server.log", *hosts) as address:
        port = address.rpartition(":")[2]
        assert handshake(address, f"Origin: {address}") == 101
        assert handshake(address, f"Origin: http://localhost:{port}", host=f"localhost:{port}") == 101
        assert handshake(address, "Origin: http://localhost:1") == 403
        assert handshake(address, "Origin: http://evil.example") == 403
    assert confined.tried() == []
