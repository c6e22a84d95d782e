"""Prompts that people give: a file of them, texts, or one of the sets that come with the package."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from errno import EFBIG, EINVAL
from pathlib import Path

from neurothek.catalog.arguments import bad_argument, expanded
from neurothek.catalog.files import why_no_file
from neurothek.catalog.spelling import is_text
from neurothek.ingest.corpora.sources.builtin import BUILTIN, some_documents

N_PROMPTS = 64
"""Prompts of each set that comes with the package."""

_MOST_BYTES = 64 << 20


def read_prompts(option: str, given: str | Path | Sequence[str]) -> tuple[str, ...]:
    """The prompts of a file, one a line or JSON lines with a `prompt` or a `text`; of a set; or the texts themselves.

    Args:
        option: the argument that they were given as, for errors.
        given: a path, the name of a set such as "builtin:code", or the prompts.

    Raises:
        Invalid: there is no such set, the file cannot be read, or there is no prompt in it.
    """
    if isinstance(given, str) and given.startswith(f"{BUILTIN}:"):
        return _set(option, given)
    lines = read_lines(option, given)
    if not isinstance(given, str | Path) or not str(given).endswith((".jsonl", ".json")):
        return lines
    return tuple(_prompt(option, str(given), number, line) for number, line in enumerate(lines, start=1))


def read_lines(option: str, given: str | Path | Sequence[str]) -> tuple[str, ...]:
    """Lines of a file, or texts, that are not empty.

    Raises:
        Invalid: the file cannot be read, or there is no text in it.
    """
    if isinstance(given, str | Path):
        path = given
        try:
            given = _text(expanded(given)).split("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise bad_argument(option, str(path), why=f"that file cannot be read ({reason})") from error
        if not any(line.strip() for line in given):
            raise bad_argument(option, str(path), "put one a line into it", why="that is an empty file")
    lines = tuple(line.removesuffix("\r") for line in given if line.strip())
    for number, line in enumerate(lines, start=1):
        if not is_text(line):
            raise bad_argument(option, line, "give whole ones", why=f"text {number} holds half of a character")
    if not lines:
        raise bad_argument(option, list(given), "give at least one")
    return lines


def _prompt(option: str, path: str, number: int, line: str) -> str:
    """The prompt of one line of JSON: a text, or an object with a prompt or a text, however deep."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise bad_argument(option, path, "write one object a line", why=f"line {number} is not JSON") from error
    while isinstance(value, dict):
        value = value.get("prompt", value.get("text"))
    if not isinstance(value, str) or not value.strip() or not is_text(value):
        raise bad_argument(option, path, "give it one", why=f"line {number} has no text under `prompt` or `text`")
    return value


def _text(path: Path) -> str:
    """The text of a file of some size; a pipe is read as well."""
    kind = why_no_file(path)
    if kind is not None and kind != "a named pipe":
        raise OSError(EINVAL, f"it is {kind}")
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(EFBIG, f"it is larger than {_MOST_BYTES >> 20} MiB")
    return content.decode("utf-8-sig")


def _set(option: str, name: str) -> tuple[str, ...]:
    make = _SETS.get(name.removeprefix(f"{BUILTIN}:"))
    if make is None:
        names = ", ".join(f"{BUILTIN}:{one}" for one in _SETS)
        raise bad_argument(option, name, f"give a file, or one of {names}", why="there is no such set of prompts")
    return tuple(make())


_N_FILES = 400
"""Of Python's library so many files are read for a set: enough for its prompts, in a few seconds."""

_SHORTEST, _LONGEST = 60, 300
"""Characters of a passage: shorter ones say little, and longer ones only take time."""


_LEAST_LETTERS = 0.7


def _code() -> list[str]:
    """Lines of code that stand together, from files of Python's library that nothing was trained on."""
    return _passages(some_documents("measure", n_files=_N_FILES, n_arithmetic=0)["code"])


def _prose() -> list[str]:
    """Passages of docstrings of Python's library, likewise."""
    return _passages(some_documents("measure", n_files=_N_FILES, n_arithmetic=0)["prose"])


def _passages(documents: Sequence[str]) -> list[str]:
    """Passages of whole lines: the one in the middle of each document, then the next, until there are enough."""
    chosen: dict[str, None] = {}
    cuts = [passages[len(passages) // 2 :] for passages in map(list, map(_cut, documents))]
    for number in range(max(map(len, cuts), default=0)):
        chosen.update(dict.fromkeys(cut[number] for cut in cuts if number < len(cut)))
    return list(chosen)[:N_PROMPTS]


def _cut(document: str) -> Iterator[str]:
    """The passages of a document, one after the other; a line that is too long ends one and begins another."""
    passage = ""
    for line in document.splitlines():
        if len(passage) >= _SHORTEST or len(passage) + len(line) > _LONGEST:
            if len(passage) >= _SHORTEST and _says_something(passage):
                yield passage
            passage = ""
        if len(line) <= _LONGEST and line.strip():
            passage = f"{passage}\n{line}" if passage else line.strip()


def _says_something(passage: str) -> bool:
    """Whether most of it is letters and blanks, as of no table of numbers or characters."""
    return sum(letter.isalpha() or letter.isspace() for letter in passage) >= _LEAST_LETTERS * len(passage)


def _questions() -> list[str]:
    """Questions that end with the word with which the statement of the same number ends."""
    return [f"Is the {subject} {complement}" for subject, complement in _CLAUSES]


def _statements() -> list[str]:
    return [f"The {subject} is {complement}" for subject, complement in _CLAUSES]


_CLAUSES = (
    ("river", "cold in winter"),
    ("garden", "open to children"),
    ("train", "late on Mondays"),
    ("answer", "on the next page"),
    ("shop", "near the station"),
    ("bread", "still warm"),
    ("door", "painted blue"),
    ("letter", "from your brother"),
    ("museum", "free for students"),
    ("road", "closed after rain"),
    ("teacher", "from another town"),
    ("kitchen", "large enough"),
    ("ship", "bound for Norway"),
    ("window", "made of glass"),
    ("dog", "afraid of thunder"),
    ("book", "worth reading"),
    ("bridge", "older than the church"),
    ("water", "safe to drink"),
    ("meeting", "about the budget"),
    ("doctor", "at the hospital"),
    ("song", "well known"),
    ("engine", "running again"),
    ("moon", "full tonight"),
    ("price", "lower than last year"),
    ("picture", "on the wall"),
    ("forest", "full of birds"),
    ("coat", "too small for him"),
    ("island", "far from land"),
    ("game", "almost over"),
    ("farmer", "in the field"),
    ("clock", "five minutes fast"),
    ("report", "ready for the board"),
    ("lake", "deep in the middle"),
    ("room", "empty today"),
    ("cake", "made with honey"),
    ("horse", "faster than the bus"),
    ("judge", "known to be fair"),
    ("market", "open until noon"),
    ("city", "famous for its parks"),
    ("phone", "under the table"),
    ("novel", "set in Spain"),
    ("storm", "moving to the east"),
    ("child", "asleep upstairs"),
    ("tower", "taller than the trees"),
    ("soup", "ready to serve"),
    ("lesson", "hard to follow"),
    ("key", "in the drawer"),
    ("wind", "strong on the coast"),
    ("law", "different in France"),
    ("box", "full of tools"),
    ("actor", "famous abroad"),
    ("hotel", "close to the beach"),
    ("car", "parked outside"),
    ("lamp", "too bright"),
    ("team", "proud of the result"),
    ("path", "covered with leaves"),
    ("cheese", "made from milk"),
    ("plan", "likely to work"),
    ("cat", "hiding behind the sofa"),
    ("sea", "calm this morning"),
    ("recipe", "easy to remember"),
    ("village", "quiet at night"),
    ("patient", "able to walk"),
    ("machine", "used every day"),
)

_SETS: Mapping[str, Callable[[], list[str]]] = {
    "code": _code,
    "prose": _prose,
    "questions": _questions,
    "statements": _statements,
}
