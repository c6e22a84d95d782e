"""The text that comes with every Python: its own source, its own documentation, and arithmetic made from a seed."""

import ast
import gc
import hashlib
import io
import itertools
import json
import os
import re
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import ClassVar, Literal, get_args

from neurothek.catalog.files import sha256_of
from neurothek.catalog.spelling import is_text
from neurothek.ingest.corpora.sources.arithmetic import arithmetic_documents
from neurothek.ingest.corpora.sources.document import Document
from neurothek.ingest.corpora.text_memory import TextMemory
from neurothek.ingest.user_cache import read_content, write_content

BUILTIN = "builtin"

Domain = Literal["code", "math", "prose"]
TextPart = Literal["measure", "train"]

DOMAINS: tuple[Domain, ...] = get_args(Domain)

# Raised when the extraction below changes what a document is.
VERSION = 1

NOT_LIBRARY = frozenset({"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"})
TOPICS = "pydoc_data/topics.py"

_MOST_LIBRARIES = 4
"""Those of so many Pythons are in the user's cache, ten megabytes each."""

_MOST_PARTS = 8
"""So many parts of libraries are there, too, five megabytes each."""

# Shorter docstrings ("Return self.") and modules (an empty __init__.py) say little. In characters.
SHORTEST = 80

# One document in ten is kept for measuring.
MEASURED_ONE_IN = 10


@dataclass(frozen=True)
class BuiltinText:
    """One of the three domains: `builtin:code`, `builtin:math` or `builtin:prose`."""

    is_streamed: ClassVar[bool] = False
    domain: Domain

    @classmethod
    def parse(cls, domain: str, location: str) -> "BuiltinText | None":
        """What a location names; None for one of another kind."""
        return next((cls(name) for name in DOMAINS if location == f"{BUILTIN}:{name}"), None)

    @property
    def location(self) -> str:
        """The domain as `parse` reads it."""
        return f"{BUILTIN}:{self.domain}"

    def exists(self) -> bool:
        """Python has its library."""
        return True

    def pinned(self) -> "BuiltinText":
        """The same everywhere."""
        return self

    def sha256(self) -> str:
        """See `library_sha256`."""
        return library_sha256()

    def documents(self, split: TextPart, memory: TextMemory) -> Iterator[Document]:
        """See the function of that name."""
        return map(Document.of, builtin_documents(self.domain, split))

    def files(self) -> list[Path]:
        """The files of Python's library."""
        return list(library_files())


def builtin_documents(domain: Domain, split: TextPart) -> Iterator[str]:
    """The documents of one domain, each once, in the order of their hashes: any beginning is a fair sample.

    A document whose sha256, read as an integer, is 0 modulo 10 belongs to the split 'measure', any other to 'train'.
    """
    for digest, text in _hashed(domain):
        if kept_for_measuring(digest) == (split == "measure"):
            yield text


def some_documents(split: TextPart, *, n_files: int, n_arithmetic: int) -> dict[Domain, list[str]]:
    """Documents of one split of every domain, each once, for whoever needs few and should not wait for all.

    Args:
        split: see `builtin_documents`.
        n_files: of the library's files those whose names have the lowest hashes are read, and the language reference.
        n_arithmetic: so many of the documents of arithmetic are made.
    """
    texts = {**_part_of_library(n_files), "math": list(arithmetic_documents(n_arithmetic))}
    return {
        domain: [
            text for text in dict.fromkeys(texts[domain]) if kept_for_measuring(_sha256(text)) == (split == "measure")
        ]
        for domain in DOMAINS
    }


def kept_for_measuring(digest: bytes) -> bool:
    """Whether the document with this sha256 is measured on and never trained on."""
    return int.from_bytes(digest, "big") % MEASURED_ONE_IN == 0


@cache
def library_sha256() -> str:
    """A hash of everything that the three domains are made from: the library's files and this extraction."""
    digest = hashlib.sha256(f"neurothek builtin {VERSION}\n".encode())
    for path, name in _named_files():
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def library_files() -> Iterator[Path]:
    """The files of Python's own library that the three domains are made from, and no package's beside them."""
    for folder, folders, files in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in NOT_LIBRARY]
        yield from (Path(folder, name) for name in files if name.endswith(".py") and not name.startswith("test_"))


@cache
def _hashed(domain: Domain) -> tuple[tuple[bytes, str], ...]:
    texts = arithmetic_documents() if domain == "math" else _library()[domain]
    return tuple(sorted((_sha256(text), text) for text in dict.fromkeys(texts)))


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@cache
def _library() -> dict[Domain, list[str]]:
    """The documents of code and of prose, from one reading of the library."""
    return _read_once("texts", _named_files(), library_sha256(), most=_MOST_LIBRARIES)


@cache
def _part_of_library(n_files: int) -> dict[Domain, list[str]]:
    """The documents of code and of prose in so many of the library's files and in the language reference."""
    named = sorted(_named_files(), key=lambda file: (_sha256(file[1]), file[1]))
    chosen = named[:n_files] + [file for file in named[n_files:] if file[1] == TOPICS]
    contents = [[name, sha256_of(path)] for path, name in chosen]
    return _read_once("parts", chosen, json.dumps(contents), most=_MOST_PARTS)


def _read_once(folder: str, files: Iterable[tuple[Path, str]], contents: str, *, most: int) -> dict[Domain, list[str]]:
    """The documents of code and of prose in some files, which a folder of the user's cache holds from then on.

    It knows them by a hash of everything that they are made from, and of what makes them.

    Args:
        folder: of the cache.
        files: path and name of each file.
        contents: what tells their contents from all others.
        most: how many such documents stay in the folder.
    """
    maker = [contents, sys.version, sha256_of(Path(__file__))]
    name = f"{folder}/{hashlib.sha256(json.dumps(maker).encode()).hexdigest()}"
    content = read_content(name)
    if content is not None:
        documents: dict[Domain, list[str]] = json.loads(content)
        return documents
    documents = _documents(files)
    write_content(name, json.dumps(documents).encode(), most=most)
    return documents


def _documents(files: Iterable[tuple[Path, str]]) -> dict[Domain, list[str]]:
    """The documents of code and of prose in some of the library's files."""
    code: list[str] = []
    prose: list[str] = []
    for name, source, tree in _parsed(files):
        if name == TOPICS:
            prose += _topics(tree)
            continue
        docstrings = list(docstrings_of(tree))
        code.append(without_remarks(source, docstrings))
        prose += [cleandoc(str(constant.value)) for constant in docstrings]
    return {
        "code": [text for text in code if len(text) >= SHORTEST and is_text(text)],
        "prose": [text for text in prose if len(text) >= SHORTEST and is_text(text)],
    }


def _topics(tree: ast.Module) -> Iterator[str]:
    """The chapters of the language reference that `help()` shows: the values of one dictionary display."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            yield from (str(text).strip() for text in ast.literal_eval(node.value).values())


def without_remarks(source: str, docstrings: Iterable[ast.Constant]) -> str:
    """`source` without docstrings and comments, otherwise as it was written; runs of blank lines become one."""
    lines = source.split("\n")
    for start, end in sorted(_remarks(source, docstrings, lines), reverse=True):
        (first, begin), (last, stop) = start, end
        lines[first : last + 1] = [lines[first][:begin] + lines[last][stop:]]
    stripped = (line.rstrip() for line in lines)
    runs = itertools.groupby(stripped, key=bool)
    return "\n".join(line for filled, run in runs for line in (run if filled else ("",))).strip("\n") + "\n"


_Place = tuple[int, int]


def _remarks(source: str, docstrings: Iterable[ast.Constant], lines: list[str]) -> Iterator[tuple[_Place, _Place]]:
    """Where docstrings and comments start and end: 0-based lines and characters."""
    for node in docstrings:
        if node.end_lineno is not None and node.end_col_offset is not None:
            first, last = node.lineno - 1, node.end_lineno - 1
            yield (
                (first, _character(lines[first], node.col_offset)),
                (last, _character(lines[last], node.end_col_offset)),
            )
    for start, text in _comments(source):
        yield start, (start[0], start[1] + len(text))


def _comments(source: str) -> Iterator[tuple[_Place, str]]:
    """Where comments start, and what they say, from their # to the end of the line."""
    if sys.version_info >= (3, 12):  # strings hold strings in f-strings there, and `tokenize` is fast
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield (token.start[0] - 1, token.start[1]), token.string
        return
    line = line_start = read = 0
    for match in _STRING_OR_COMMENT.finditer(source):
        if match.group().startswith("#"):
            line += source.count("\n", read, match.start())
            read = match.start()
            line_start = source.rfind("\n", 0, read) + 1
            yield (line, read - line_start), match.group()


# Neither do strings hold comments nor comments strings: whichever begins first goes on to its end.
_STRING_OR_COMMENT = re.compile(
    r'''"""(?:[^\\"]|\\.|"(?!""))*"""'''
    r"""|'''(?:[^\\']|\\.|'(?!''))*'''"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#[^\n]*""",
    re.DOTALL,
)


def _character(line: str, n_bytes: int) -> int:
    """The character that `ast` means: it counts the bytes of a line in UTF-8."""
    return len(line.encode()[:n_bytes].decode())


def docstrings_of(tree: ast.Module) -> Iterator[ast.Constant]:
    """The docstrings of the module and of all that is defined in it: only statements are looked at."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        body = getattr(node, "body", ())
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and body:
            first = body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first.value
        for block in _BLOCKS:
            waiting += getattr(node, block, ())


# Where statements hold statements: what they do, and the clauses of `if`, loops, `try` and `match`.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _parsed(files: Iterable[tuple[Path, str]]) -> Iterator[tuple[str, str, ast.Module]]:
    """Name, source and syntax tree of every file that this Python can parse."""
    for path, name in files:
        try:
            with tokenize.open(path) as file:
                source = file.read()
            with warnings.catch_warnings(), _collection_put_off():
                warnings.simplefilter("ignore")  # the library's own style is not our subject
                tree = ast.parse(source)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        yield name, source, tree


@contextmanager
def _collection_put_off() -> Iterator[None]:
    """Half of the time of parsing goes into looking for garbage among nodes that are all alive."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _named_files() -> Iterator[tuple[Path, str]]:
    """The library's files and their names within it, in the order of these."""
    root = Path(sysconfig.get_path("stdlib"))
    yield from ((path, path.relative_to(root).as_posix()) for path in sorted(library_files()))
