"""The Perspective API against a service in miniature on this machine, which answers what a test wants."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ingest.interventions.scorers.errors import ScorerFailed, ScorerUnusable
from ingest.interventions.scorers.perspective import ATTRIBUTES, KEY_VARIABLE, PerspectiveScorer

KEY = "AIza-secret-0123456789"


class Service(ThreadingHTTPServer):
    """Answers requests in turn with what it was given: a status, a body, headers; the last one for ever.

    Attributes:
        answers: what is still to be said.
        requests: path, headers and body of what came in.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, object, dict[str, str]]] = []
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    def say(self, status: int, body: object, **headers: str) -> None:
        self.answers.append((status, body, headers))


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, json.loads(asked or b"{}")))
        answers = self.server.answers
        status, body, more = answers.pop(0) if len(answers) > 1 else answers[0]
        said = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(said)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Service()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def asking(service: Service, argument: str = "") -> PerspectiveScorer:
    found = PerspectiveScorer.opened(f"perspective:{argument}", argument)
    return replace(found, base_url=f"http://127.0.0.1:{service.server_port}", waits_seconds=(0.0, 0.0))


def scored(**scores: object) -> dict[str, object]:
    return {
        "attributeScores": {name: {"summaryScore": {"value": score, "type": "X"}} for name, score in scores.items()}
    }


def test_each_text_is_asked_for_once(service: Service) -> None:
    service.say(200, scored(INSULT=0.25, TOXICITY=0.5))
    service.say(200, scored(TOXICITY=1, INSULT=0))
    scorer = asking(service, "toxicity,INSULT")
    assert scorer.scores(["a \ud83d\ude00 \ud800", "b"]).tolist() == [[0.5, 0.25], [1, 0]]
    assert scorer.scores([]).shape == (0, 2)
    assert [body["comment"]["text"] for *_, body in service.requests] == ["a \U0001f600 \ud800", "b"]
    path, headers, body = service.requests[0]
    assert (path, headers["x-goog-api-key"]) == ("/v1alpha1/comments:analyze", KEY)
    assert body["requestedAttributes"] == {"TOXICITY": {}, "INSULT": {}}
    assert body["doNotStore"] is True


def test_what_is_asked_for() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, f" {KEY}\n")
        assert PerspectiveScorer.opened("perspective", "").attributes == ("TOXICITY",)
        named = "toxicity, severe toxicity, sexually explicit, threat, profanity, identity attack"
        scorer = PerspectiveScorer.opened("perspective", named)
        assert scorer.attributes == ATTRIBUTES[:6]
        assert scorer.is_foreign
        assert scorer.words("TOXICITY") == ()
        assert KEY not in f"{scorer!r}{json.dumps(scorer.identity)}"
        with pytest.raises(ScorerUnusable, match="no attribute 'TOXICTY'; nearest: TOXICITY"):
            PerspectiveScorer.opened("perspective:TOXICTY", "TOXICTY")


@pytest.mark.parametrize("key", [None, "", "  ", "a b", "a\nb", "clé"])
def test_without_a_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    if key is not None:
        monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(ScorerUnusable, match="set it to your key") as caught:
        PerspectiveScorer.opened("perspective", "")
    assert not key or not key.strip() or key not in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_is_asked_again(service: Service, status: int) -> None:
    service.say(status, {"error": {"message": "slow down"}})
    service.say(status, b"<html>")
    service.say(200, scored(TOXICITY=0.125))
    assert asking(service).scores(["a"]).tolist() == [[0.125]]
    assert len(service.requests) == 3


def test_a_service_that_stays_busy_is_a_failure(service: Service) -> None:
    service.say(429, {"error": {"message": f"quota of {KEY} is used up"}})
    with pytest.raises(ScorerFailed, match=r"text 1 got no answer in 3 tries \(429, quota of \.\.\. is used up\)"):
        asking(service).scores(["a"])
    assert len(service.requests) == 3


def test_a_refusal_is_a_failure_and_no_zero(service: Service) -> None:
    service.say(200, scored(TOXICITY=0.5))
    said = "Attribute TOXICITY does not support request languages: xx\x1b[2J"
    service.say(400, {"error": {"code": 400, "message": said}})
    with pytest.raises(ScorerFailed, match=r"refused text 2 \(400, Attribute TOXICITY does not support") as caught:
        asking(service).scores(["a", "b"])
    assert str(caught.value).isprintable()
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>", r"the answer to text 1 is not JSON \(<html>\)"),
        (b"", "is not JSON"),
        ([], r"is no JSON object"),
        ({}, "gives TOXICITY the score null"),
        ({"attributeScores": []}, "gives TOXICITY the score null"),
        ({"attributeScores": {"TOXICITY": 0.5}}, "gives TOXICITY the score null"),
        (scored(INSULT=0.5), "gives TOXICITY the score null"),
        (scored(TOXICITY=1.5), "gives TOXICITY the score 1.5"),
        (scored(TOXICITY=True), "gives TOXICITY the score true"),
        (scored(TOXICITY="0.5"), 'gives TOXICITY the score "0.5"'),
        (scored(TOXICITY=float("nan")), "holds NaN"),
    ],
)
def test_nonsense_is_a_failure(service: Service, body: object, said: str) -> None:
    service.say(200, body)
    with pytest.raises(ScorerFailed, match=said):
        asking(service).scores(["a"])


def test_the_key_follows_nobody_elsewhere(service: Service) -> None:
    service.say(302, b"", Location=f"http://127.0.0.1:{service.server_port}/elsewhere")
    with pytest.raises(ScorerFailed, match="refused text 1"):
        asking(service).scores(["a"])
    assert [path for path, *_ in service.requests] == ["/v1alpha1/comments:analyze"]


def test_the_key_is_in_no_failure(service: Service) -> None:
    for status, body in ((400, {"error": {"message": KEY}}), (500, KEY.encode()), (200, KEY.encode())):
        service.answers.clear()
        service.say(status, body)
        with pytest.raises(ScorerFailed) as caught:
            asking(service).scores(["a"])
        chain: list[BaseException] = [caught.value]
        while chain[-1].__cause__ is not None or chain[-1].__context__ is not None:
            chain.append(chain[-1].__cause__ or chain[-1].__context__ or chain[-1])
        assert not any(KEY in f"{error} {error!r}" for error in chain)


def test_a_service_that_is_not_there_is_a_failure(service: Service) -> None:
    scorer = replace(asking(service), base_url="http://127.0.0.1:9")
    with pytest.raises(ScorerFailed, match=r"text 1 got no answer in 3 tries \(.*refused"):
        scorer.scores(["a"])
