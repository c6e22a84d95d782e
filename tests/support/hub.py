"""A Hugging Face hub in miniature on this machine, which records what it was asked for."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

COMMIT = "c0ffee" + "0" * 34


class Hub(ThreadingHTTPServer):
    """One repository, served as a hub does; every other one does not exist.

    Attributes:
        repo: its id.
        files: its main branch.
        branches: commit -> the files of every other branch, by the branch's name.
        downloaded: names of the files that were sent, in order.
        tokens: the authorization headers that came in.
    """

    def __init__(self, repo: str, folder: Path, branches: Mapping[str, Path] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repo = repo
        self.files = _files(folder)
        self.branches = {name: (commit_of(name), _files(place)) for name, place in (branches or {}).items()}
        self.downloaded: list[str] = []
        self.tokens: set[str | None] = set()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str) -> bytes | None:
        """The body at `path`, None where there is nothing."""
        if path == "/":
            return b"hello"
        if path == f"/api/models/{self.repo}":
            path += "/revision/main"
        for branch, (commit, files) in {"main": (COMMIT, self.files), **self.branches}.items():
            if path == f"/api/models/{self.repo}/tree/{commit}":
                return json.dumps([_entry(name, body) for name, body in files.items()]).encode()
            if path == f"/api/models/{self.repo}/revision/{branch}":
                siblings = [{"rfilename": name} for name in files]
                return json.dumps({"id": self.repo, "sha": commit, "siblings": siblings}).encode()
            prefix = f"/{self.repo}/resolve/{commit}/"
            if path.startswith(prefix):
                return files.get(path.removeprefix(prefix))
        return None

    def commit(self, path: str) -> str:
        """The commit that a path is of, the main branch's unless it names another."""
        commits = [commit for commit, _ in self.branches.values()]
        return next((commit for commit in commits if f"/{commit}/" in path), COMMIT)


class Handler(BaseHTTPRequestHandler):
    """Answers for a `Hub`."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()
        if "/resolve/" in self.path:
            self.server.downloaded.append(self.path.rsplit("/", 1)[1])

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def _answer(self) -> None:
        self.server.tokens.add(self.headers.get("authorization"))
        body = self.server.answer(self.path.split("?")[0])
        self.send_response(404 if body is None else 200)
        if body is None:
            is_known = f"/{self.server.repo}/" in self.path
            self.send_header("X-Error-Code", "RevisionNotFound" if is_known else "RepoNotFound")
        else:
            self.send_header("X-Repo-Commit", self.server.commit(self.path))
            self.send_header("ETag", f'"{_sha256(body)}"')
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body or b"")


@contextmanager
def serve(repo: str, folder: Path, branches: Mapping[str, Path] | None = None) -> Iterator[Hub]:
    """Serve the files of `folder` as the main branch of `repo`, and other folders as other branches."""
    hub = Hub(repo, folder, branches)
    # It looks every 10 ms whether to stop; half a second, the default, would be most of a test's time.
    Thread(target=hub.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()


def commit_of(branch: str) -> str:
    """The commit of a branch other than the main one."""
    return hashlib.sha1(branch.encode()).hexdigest()


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _entry(name: str, body: bytes) -> dict[str, object]:
    large = {"lfs": {"oid": _sha256(body), "size": len(body), "pointerSize": 134}} if "safetensors" in name else {}
    return {"type": "file", "path": name, "size": len(body), "oid": hashlib.sha1(body).hexdigest(), **large}


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
