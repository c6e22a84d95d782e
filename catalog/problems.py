"""Errors for users, in a dozen kinds: each has a sentence (what was asked, what was found), a hint and fields.

Terminal, pages and Python print the same sentence; programs read the fields. No code reads a sentence.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from neurothek.catalog.spelling import named
from neurothek.catalog.suggestions import hint as nearest_or_all

_SHOWN_OF_A_REASON = 120


class NeurothekError(Exception):
    """A handled user error.

    Attributes:
        message: what was asked and what was found.
        hint: what to do; empty where the message says it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint

    @classmethod
    def kind(cls) -> str:
        """The name that programs tell it by, such as `not_found`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    def to_dict(self) -> dict[str, Any]:
        """Kind, message, hint and fields, of what JSON can hold."""
        return {"kind": self.kind(), **{name: _plain(value) for name, value in vars(self).items()}}

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> "NeurothekError":
        """The error of another process; of a kind that is none here, the base of all."""
        kinds = {one.kind(): one for one in _kinds(NeurothekError)}
        state = {name: value for name, value in fields.items() if name != "kind"}
        return _rebuilt(kinds.get(str(fields.get("kind")), NeurothekError), state)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), dict(vars(self)))


class NotFound(NeurothekError):
    """Nothing has the name.

    Attributes:
        what: the kind of thing, such as "model".
        name: as it was asked for.
        known: names there are.
    """

    def __init__(self, message: str, hint: str = "", *, what: str, name: object, known: Iterable[object] = ()) -> None:
        super().__init__(message, hint)
        self.what = what
        self.name = name
        self.known = list(known)

    @classmethod
    def among(cls, what: str, name: str, known: Iterable[str], *, where: str = "", also: str = "") -> Self:
        """There is no such thing among those known: the nearest of them are named, or else all.

        Args:
            what: the kind of thing, such as "model".
            name: as it was asked for.
            known: names there are.
            where: what follows the name, such as "in the warehouse".
            also: what follows the hint.
        """
        known = list(known)
        message = " ".join(part for part in (f"there is no {what}", named(name), where) if part)
        return cls(message, nearest_or_all(name, known) + also, what=what, name=name, known=known)


class Invalid(NeurothekError):
    """A value, or several together, that an option, argument or field cannot have.

    Attributes:
        option: where the value was given, as its reader knows it: "--layers", "seed", "config.json".
        value: what was given.
    """

    def __init__(self, message: str, hint: str = "", *, option: str, value: object = None) -> None:
        super().__init__(message, hint)
        self.option = option
        self.value = value


class NotMeasured(NeurothekError):
    """The warehouse lacks the results that an answer needs.

    Attributes:
        jobs: whose results are missing; none where there is no model at all.
        models: that they were asked of.
        corpus: that they were asked on; None for any.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        jobs: Sequence[str],
        models: Sequence[str] = (),
        corpus: str | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.jobs = list(jobs)
        self.models = list(models)
        self.corpus = corpus


class Conflict(NeurothekError):
    """What is there is not what would be written or was asked for: a name taken, a file changed, two that differ.

    Attributes:
        what: the kind of thing, such as "model".
        name: of the one that is in the way.
    """

    def __init__(self, message: str, hint: str = "", *, what: str, name: object) -> None:
        super().__init__(message, hint)
        self.what = what
        self.name = name


class Unreadable(NeurothekError):
    """A file, folder or text that is not what it should be, or cannot be read or written.

    Attributes:
        path: of it, or what else it is called by.
        why: in a few words; empty where the message says it.
    """

    def __init__(self, message: str, hint: str = "", *, path: object, why: str = "") -> None:
        super().__init__(message, hint)
        self.path = path
        self.why = why


class Damaged(Unreadable):
    """A file of ours whose content is not what was written."""


class Unavailable(NeurothekError):
    """What is needed is not on this machine or cannot be reached: nothing is wrong with the question.

    Attributes:
        what: the kind of thing, such as "warehouse", "weights", "hub", "device".
        name: of it.
        why: in a few words; empty where the message says it.
    """

    def __init__(self, message: str, hint: str = "", *, what: str, name: object, why: str = "") -> None:
        super().__init__(message, hint)
        self.what = what
        self.name = name
        self.why = why


class MissingExtra(Unavailable):
    """A library that only an extra of the package installs; `name` is the extra's."""


class Unsupported(NeurothekError):
    """Something sound that this program does not measure or do.

    Attributes:
        what: the kind of thing, such as "architecture".
        name: of it.
    """

    def __init__(self, message: str, hint: str = "", *, what: str, name: object) -> None:
        super().__init__(message, hint)
        self.what = what
        self.name = name


class Refused(NeurothekError):
    """Something that is not done because it could do harm.

    Attributes:
        what: the statement, function or file.
        why: in a few words; empty where the message says it.
    """

    def __init__(self, message: str, hint: str = "", *, what: object, why: str = "") -> None:
        super().__init__(message, hint)
        self.what = what
        self.why = why


class LimitExceeded(NeurothekError):
    """More memory, disk, time or length than there is or than was allowed.

    Attributes:
        what: "memory", "disk", "time", "tokens" and so on.
        needed: how much; None where nobody knows.
        limit: how much there is; None where nobody knows.
    """

    def __init__(
        self, message: str, hint: str = "", *, what: str, needed: float | None = None, limit: float | None = None
    ) -> None:
        super().__init__(message, hint)
        self.what = what
        self.needed = needed
        self.limit = limit


class Busy(NeurothekError):
    """Another process holds what is needed.

    Attributes:
        path: of the file that is held, or what else it is called by.
    """

    def __init__(self, message: str, hint: str = "", *, path: object) -> None:
        super().__init__(message, hint)
        self.path = path


class Failed(NeurothekError):
    """Something that was run for a person and did not succeed: a query, a scorer, a download.

    Attributes:
        what: the kind of thing, such as "query".
        why: what it said.
    """

    def __init__(self, message: str, hint: str = "", *, what: str, why: str = "") -> None:
        super().__init__(message, hint)
        self.what = what
        self.why = why


def memory_refused(why: BaseException) -> LimitExceeded:
    """The process gets no more memory, or no more threads."""
    reason = " ".join(str(why).split())
    return LimitExceeded(
        f"there is not enough memory{f' ({reason[:_SHOWN_OF_A_REASON]})' if reason else ''}",
        "close other programs or raise this process's limit (`ulimit -v`), then repeat the command",
        what="memory",
    )


class NeurothekWarning(UserWarning):
    """What an answer cannot say about itself, in one sentence."""


def _kinds(base: type[NeurothekError]) -> list[type[NeurothekError]]:
    return [base, *(kind for one in base.__subclasses__() for kind in _kinds(one))]


def _rebuilt(kind: type[NeurothekError], state: Mapping[str, Any]) -> NeurothekError:
    """An error as it was, whatever its constructor asks for."""
    message, hint = str(state.get("message", "")), str(state.get("hint", ""))
    text = f"{message}; {hint}" if hint else message
    error = kind.__new__(kind, text)
    error.args = (text,)
    error.__dict__.update(state)
    return error


def _plain(value: object) -> object:
    """A field as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, Path):
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)
