"""What servers take of a question, and what they answer: a text, or in words of many kinds why there is none."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from neurothek.catalog.spelling import is_text, one_line

Messages = Sequence[Mapping[str, str]]

_SHOWN_LETTERS = 200

_THOUGHTS = re.compile(
    r"\A\s*(?:<(think|thinking|thought|reasoning)>.*?</\1>|\[THINK\].*?\[/THINK\])", re.DOTALL | re.IGNORECASE
)
_ENDED_THOUGHTS = re.compile(r"\A.*?^\s*</think>[ \t]*$", re.DOTALL | re.MULTILINE)
"""Where the template of the prompt has opened them."""

_THINKING = re.compile(r"\A\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\])", re.IGNORECASE)
_FENCED = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)

_LONGER_CONTEXT = (
    "serve it with a longer context (vLLM: --max-model-len, llama.cpp: --ctx-size, Ollama: OLLAMA_CONTEXT_LENGTH), or"
    " lower --answer-tokens"
)
_MORE_TOKENS = "raise --answer-tokens, or take a language model that answers in short"
_ITS_KEY = "put a key that it takes into the environment variable that --key-variable names"
_ITS_URL = "give the URL that its documentation calls base URL, such as http://localhost:8000/v1"


@dataclass(frozen=True)
class Failure:
    """No answer to one question."""

    why: str  # in a few words, none of them the endpoint's
    is_final: bool = False  # whether no other question would be answered either
    advice: str = field(default="", compare=False)  # what to do, if that is known
    quote: str = field(default="", compare=False)  # what the server says of it, as harmless text
    is_answered: bool = field(default=False, compare=False)  # whether the language model has answered, to no use


@dataclass(frozen=True)
class ServerError:
    """What a server says of a question that it does not answer: there are as many forms as servers."""

    message: str = ""
    param: str = ""
    code: str = ""

    def has(self, *words: str) -> bool:
        """Whether any of some words, in small letters, is in it."""
        text = f"{self.message} {self.param} {self.code}".lower()
        return any(word in text for word in words)


def server_error(body: bytes) -> ServerError:
    """OpenAI: error with a message; TGI, LM Studio: error alone; vLLM: message; FastAPI: detail, or a list of them."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ServerError()
    if not isinstance(answer, dict):
        return ServerError()
    error = answer.get("error", answer)
    if isinstance(error, str):
        return ServerError(error, code=_text(answer.get("error_type")))
    if not isinstance(error, dict):
        return ServerError()
    message = _text(error.get("message")) or _text(answer.get("message")) or _details(answer.get("detail"))
    return ServerError(message, _text(error.get("param")), _text(error.get("code")) or _text(error.get("type")))


def _text(value: object) -> str:
    return value if isinstance(value, str) and is_text(value) else ""


def _details(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_text(one.get("msg")) for one in value[:5] if isinstance(one, dict))
    return _text(value)


def server_words(text: str, key: str) -> str:
    """Words of a server as harmless text on one line, without the key."""
    text = " ".join((text.replace(key, "(the key)") if key else text)[:2_000].split())
    return one_line(f"{text[:_SHOWN_LETTERS]}..." if len(text) > _SHOWN_LETTERS else text)


@dataclass(frozen=True)
class Dialect:
    """What a server and its language model take of a question; where one says that it does not, another is tried."""

    limit: str = "max_tokens"  # or max_completion_tokens
    has_temperature: bool = True
    has_system: bool = True  # a role of its own for instructions

    def body(self, model: str, messages: Messages, answer_tokens: int) -> dict[str, Any]:
        """One question, as it is sent."""
        sent = [dict(message) for message in messages] if self.has_system else _without_system(messages)
        temperature = {"temperature": 0} if self.has_temperature else {}
        return {"model": model, "messages": sent, **temperature, self.limit: answer_tokens, "stream": False}

    def after(self, error: ServerError) -> "Dialect | None":
        """What to try when a server refuses this one; None where the reason is another."""
        if self.limit == "max_tokens" and error.has("max_completion_tokens"):
            return replace(self, limit="max_completion_tokens")
        is_of_a_setting = error.has("support", "unknown", "deprecated", "only", "not permitted", "not allowed")
        if self.has_temperature and error.has("temperature") and is_of_a_setting:
            return replace(self, has_temperature=False)
        is_of_roles = error.has("system role", "roles must alternate", "roles are supported", "role 'system'")
        if self.has_system and (is_of_roles or (error.has("system") and error.has("role"))):
            return replace(self, has_system=False)
        return None

    def sentences(self) -> list[str]:
        """What answers owe to it, for those who read them."""
        if self.has_temperature:
            return []
        return ["the language model takes no temperature: its answers are drawn, and others would be another time"]


def _without_system(messages: Messages) -> list[dict[str, str]]:
    """Instructions at the head of what the user says first."""
    instructions = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    rest = [dict(message) for message in messages if message["role"] != "system"]
    rest[0]["content"] = f"{instructions}\n\n{rest[0]['content']}"
    return rest


def is_of_the_model(error: ServerError) -> bool:
    """Whether a server says that it has no such language model."""
    if error.has("model_not_found", "try pulling", "no models loaded", "unknown model", "invalid model name"):
        return True
    return error.has("model") and error.has("not found", "does not exist", "not exist", "not loaded", "no such model")


def refusal(status: int, error: ServerError, key: str) -> Failure:
    """Why a server does not answer, by what is known of servers; and what to do."""
    quote, why = server_words(error.message, key), f"status {status}"
    too_long = (
        *("context length", "context size", "context window", "context_length", "maximum context"),
        *("max_new_tokens", "maximum model length", "prompt is too long", "prompt too long", "too many tokens"),
    )
    if status == 413 or error.has(*too_long):
        return Failure("prompt that is too long for its context", advice=_LONGER_CONTEXT, quote=quote)
    if status in (401, 403):
        return Failure(why, is_final=True, advice=_ITS_KEY, quote=quote)
    if status in (402, 429) and error.has("insufficient_quota", "credit", "billing"):
        return Failure(why, is_final=True, advice="see to the account that the key belongs to", quote=quote)
    if status in (400, 404) and is_of_the_model(error):
        return Failure("no language model of that name", is_final=True, quote=quote)
    if status in (404, 405, 410):
        return Failure(f"{why}: no chat completions at that address", is_final=True, advice=_ITS_URL, quote=quote)
    return Failure(why, quote=quote)


def answer_text(body: bytes, key: str) -> str | Failure:
    """The text of the first choice, without thoughts and fences; a stream in pieces, if a server sends one unasked."""
    content = _streamed(body) if body.lstrip()[:5] == b"data:" else _whole(body, key)
    if isinstance(content, Failure):
        return content
    text, reason = content
    if reason == "length":
        return Failure("answer cut off at its longest", advice=_MORE_TOKENS, is_answered=True)
    if not is_text(text) or "\0" in text:
        return Failure("answer without a text", is_answered=True)
    if key and key in text:
        # Whatever a server does with it: it is neither stored nor shown.
        return Failure("answer that repeats the key", is_answered=True)
    text = without_thoughts(text)
    fenced = _FENCED.fullmatch(text)
    text = (fenced.group(1) if fenced else text).strip()
    return text or Failure("answer without a text", is_answered=True)


def without_thoughts(text: str) -> str:
    """An answer without what a language model thinks before it; empty where it comes to no end."""
    rest = _THOUGHTS.sub("", text, count=1)
    if rest == text:
        rest = _ENDED_THOUGHTS.sub("", text, count=1)
    return "" if _THINKING.match(rest) else rest.strip()


_NO_TEXT = Failure("answer without a text")


def _whole(body: bytes, key: str) -> tuple[str, object] | Failure:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return Failure("answer that is not JSON", advice=_ITS_URL)
    error = server_error(body)
    if isinstance(answer, dict) and "choices" not in answer and error.message:
        # Some say with status 200 that nothing is there.
        status = int(error.code) if error.code.isdecimal() and len(error.code) == 3 else 200
        return refusal(404 if status == 200 and error.has("unexpected endpoint") else status, error, key)
    try:
        choice = answer["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        return _NO_TEXT
    if isinstance(text, list):
        text = "".join(_text(part.get("text")) for part in text if isinstance(part, dict))
    if not isinstance(text, str):
        # Cut off in its thoughts, which stand elsewhere.
        return ("", reason) if reason == "length" else replace(_NO_TEXT, is_answered=True)
    return text, reason


def _streamed(body: bytes) -> tuple[str, object] | Failure:
    text, reason = [], None
    for line in body.decode("utf-8", "replace").splitlines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        try:
            choices = json.loads(data).get("choices") or [{}]
            text.append(_text((choices[0].get("delta") or {}).get("content")))
            reason = choices[0].get("finish_reason") or reason
        except (ValueError, RecursionError, TypeError, AttributeError, KeyError, IndexError):
            return _NO_TEXT
    return "".join(text), reason


def model_names(body: bytes, key: str) -> list[str]:
    """The language models that a server lists, as harmless text."""
    try:
        entries: Iterable[object] = json.loads(body)["data"]
        names = [_text(one["id"]) for one in entries if isinstance(one, dict)]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []
    return sorted({server_words(name, key) for name in names if name})
