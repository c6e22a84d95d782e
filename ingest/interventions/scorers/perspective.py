"""Scores texts by the Perspective API, a service of Google's, behind a key of one's own."""

import http
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from catalog.suggestions import hint
from ingest.interventions.scorers.answers import Nonsense, json_object, score_of
from ingest.interventions.scorers.errors import ScorerFailed, ScorerUnusable, excerpt

KEY_VARIABLE = "PERSPECTIVE_API_KEY"
BASE_URL = "https://commentanalyzer.googleapis.com"
API_VERSION = "v1alpha1"

ATTRIBUTES = (
    "TOXICITY",
    "SEVERE_TOXICITY",
    "SEXUALLY_EXPLICIT",
    "THREAT",
    "PROFANITY",
    "IDENTITY_ATTACK",
    "INSULT",
)
"""The six of [G] 6.1, and one more; alone the first is asked for."""

WAITS_SECONDS = (1.0, 2.0, 4.0, 8.0)
"""Between tries: a new key may ask once a second."""

_TIMEOUT_SECONDS = 30.0
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class PerspectiveScorer:
    """Probabilities that a reader finds a text toxic, insulting and so on, a request a text ([G] 6.1).

    The key goes to the service alone, in a header: no address, error, identity or representation has it.

    Attributes:
        spec: as it was asked for.
        attributes: what is asked for.
        key: from the environment.
        base_url: where the service is.
        waits_seconds: between tries, where it is busy.
    """

    is_foreign: ClassVar[bool] = True
    spec: str
    attributes: tuple[str, ...]
    key: str = field(repr=False)
    base_url: str = BASE_URL
    waits_seconds: tuple[float, ...] = WAITS_SECONDS

    @classmethod
    def opened(cls, spec: str, argument: str) -> "PerspectiveScorer":
        """Check what is asked for, and that there is a key; the service is not asked yet.

        Raises:
            ScorerUnusable: an attribute is unknown, or there is no key.
        """
        names = [name.strip().upper().replace(" ", "_") for name in argument.split(",")] if argument else ["TOXICITY"]
        for name in names:
            if name not in ATTRIBUTES:
                raise ScorerUnusable(
                    spec, f"it has no attribute {excerpt(name)!r}; {hint(name[:100], ATTRIBUTES)}, separated by commas"
                )
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if not key:
            raise ScorerUnusable(spec, f"the environment variable {KEY_VARIABLE} is not set; set it to your key")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ScorerUnusable(spec, f"the environment variable {KEY_VARIABLE} holds no key; set it to your key")
        return cls(spec, tuple(dict.fromkeys(names)), key)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The interface and what is asked for; the model behind it changes unseen."""
        return {"kind": "perspective", "api": API_VERSION, "attributes": list(self.attributes)}

    def scores(self, texts: Sequence[str]) -> Float[np.ndarray, "texts attributes"]:
        """[texts attributes] what the service answers.

        Raises:
            ScorerFailed: it refuses a text, is busy for too long, cannot be reached, or answers nonsense.
        """
        rows = [self._read(self._asked(text, number), number) for number, text in enumerate(texts, start=1)]
        return np.array(rows, dtype=np.float64).reshape(len(texts), len(self.attributes))

    def words(self, attribute: str) -> tuple[str, ...]:
        """None are known."""
        return ()

    def _asked(self, text: str, number: int) -> bytes:
        """The answer for one text, asked again where the service is busy."""
        for wait in self.waits_seconds:
            try:
                return self._posted(text, number)
            except _Busy:
                time.sleep(wait)
        try:
            return self._posted(text, number)
        except _Busy as error:
            raise self._failed(
                f"text {number} got no answer in {len(self.waits_seconds) + 1} tries ({error}); try again later"
            ) from error

    def _posted(self, text: str, number: int) -> bytes:
        body = {
            "comment": {"text": text},
            "requestedAttributes": {name: {} for name in self.attributes},
            "doNotStore": True,
        }
        request = urllib.request.Request(  # noqa: S310 - the address is ours
            f"{self.base_url}/{API_VERSION}/comments:analyze",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "X-Goog-Api-Key": self.key},
        )
        try:
            status, answer = _sent(request)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise _Busy(excerpt(self._hidden(str(reason) or type(error).__name__))) from None
        # What others say is shown without the key, should they repeat it.
        answer = answer.replace(self.key.encode(), b"...")
        if status == http.HTTPStatus.OK:
            return answer
        said = f"{status}, {excerpt(_message(answer))}"
        if status == http.HTTPStatus.TOO_MANY_REQUESTS or status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _Busy(said)
        raise self._failed(f"the service refused text {number} ({said}); change what is asked for, or the key")

    def _read(self, answer: bytes, number: int) -> list[float]:
        """The scores in an answer, in the order of the attributes."""
        try:
            found = json_object(answer)
        except Nonsense as error:
            raise self._nonsense(number, str(error)) from error
        scores: list[float] = []
        for name in self.attributes:
            match found:
                case {"attributeScores": {**by_name}} if name in by_name:
                    value = _summary(by_name[name])
                case _:
                    value = None
            score = score_of(value)
            if score is None:
                shown = excerpt(json.dumps(value))
                raise self._nonsense(number, f"gives {name} the score {shown}, which is not in [0, 1]")
            scores.append(score)
        return scores

    def _nonsense(self, number: int, found: str) -> ScorerFailed:
        return self._failed(f"the answer to text {number} {found}; try again later")

    def _failed(self, reason: str) -> ScorerFailed:
        return ScorerFailed(self.spec, reason)

    def _hidden(self, said: str) -> str:
        return said.replace(self.key, "...")


class _Busy(Exception):
    """The service may answer another time."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nowhere: the key would go along."""

    def redirect_request(self, *_: object) -> None:
        """Refuse."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _sent(request: urllib.request.Request) -> tuple[int, bytes]:
    """Status and body of the answer, whatever the status.

    Raises:
        OSError, HTTPException: there is no whole answer.
    """
    try:
        answer = _OPENER.open(request, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.read(_MOST_BYTES)


def _message(body: bytes) -> str:
    """What an error of the service says of itself."""
    try:
        found = json_object(body)
    except Nonsense as error:
        return f"the answer {error}"
    match found:
        case {"error": {"message": str(said)}}:
            return said
    return "without a message"


def _summary(attribute: object) -> object:
    match attribute:
        case {"summaryScore": {"value": value}}:
            return value
    return None
