"""The built-in text: laws that hold for the library of any Python, and a planted library whose documents are known."""

import ast
import hashlib
import io
import re
import sysconfig
import tokenize
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest

from neurothek.ingest.corpora.sources import builtin
from neurothek.ingest.corpora.sources.arithmetic import KINDS, arithmetic_documents
from neurothek.ingest.corpora.sources.builtin import (
    DOMAINS,
    builtin_documents,
    docstrings_of,
    library_sha256,
    some_documents,
    without_remarks,
)

SOURCE = '''"""Module docstring."""
# a comment
import os  # another


class A:
    """Class docstring
    of two lines # no comment.
    """

    name = "# kept"  # \u00e9 gone

    async def f(self):
        "one line"; return """kept too"""


    def g(self): 'short'



    def h(self):
        x = "no docstring"
        "nor this"
        return f"{x}#"
'''

STRIPPED = """import os

class A:

    name = "# kept"

    async def f(self):
        ; return \"\"\"kept too\"\"\"

    def g(self):

    def h(self):
        x = "no docstring"
        "nor this"
        return f"{x}#"
"""


def test_remarks_go_and_the_rest_stays_as_written() -> None:
    assert without_remarks(SOURCE, docstrings_of(ast.parse(SOURCE))) == STRIPPED


def test_comments_are_those_of_the_tokenizer(subtests: pytest.Subtests) -> None:
    for line in [
        """x = "it's # not"  # "this' is""",
        """x = 'a "# b'  # it's""",
        """x = "\\\\"  # after a backslash in a string""",
        'x = r"\\\\"  # "raw',
        """x = "a \\" # b"  # c""",
        '''x = """a " # b "" # c"""  # """ d''',
        """x = '''a # b
        ' # c \\''' # d'''  # e""",
        """x = "a # b \\
        # c"  # d""",
        "x = r'#' f'{x!r:#>4}#'  # e",
        "#",
        "if x: # a\n\n    # b\n    y = '#'",
        "x = ''  # empty\ny = \"\"  # empty",
    ]:
        with subtests.test(line=line):
            source = f"{line}\n\nz = 1  # the last \u00e9\n"
            tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
            rest = source.split("\n")
            for token in reversed([token for token in tokens if token.type == tokenize.COMMENT]):
                row, column = token.start[0] - 1, token.start[1]
                rest[row] = rest[row][:column] + rest[row][column + len(token.string) :]
            rest = [line.rstrip() for line in rest]
            runs = [line for number, line in enumerate(rest) if line or number == 0 or rest[number - 1]]
            assert without_remarks(source, docstrings_of(ast.parse(source))) == "\n".join(runs).strip("\n") + "\n"


def meaningful(source: str) -> list[str]:
    """The tokens that are no layout, up to where an emptied body or a stray semicolon stops Python's tokenizer."""
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.string for token in found if token.type not in layout]


def some_library_files() -> list[Path]:
    """A fixed choice of files that every Python has."""
    root = Path(sysconfig.get_path("stdlib"))
    names = ("ast", "bisect", "calendar", "csv", "dataclasses", "enum", "functools", "heapq", "inspect", "tokenize")
    return [root / f"{name}.py" for name in names]


@pytest.mark.parametrize("path", some_library_files(), ids=lambda path: path.stem)
def test_the_library_loses_docstrings_and_comments_and_nothing_else(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = [
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node, clean=False) is not None
    ]
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT)
    wanted = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in layout and token.start not in docstrings
    ]
    assert len(docstrings) > 0
    found = meaningful(without_remarks(source, docstrings_of(tree)))
    # Blank lines are squeezed inside long strings too: white space is not compared.
    assert [token.split() for token in found] == [token.split() for token in wanted]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library of known files in place of the running Python's."""
    many = "\n".join(f"x{n} = {n}" for n in range(30))
    written = {
        "kept.py": f'"""{"Prose of some length. " * 6}\n\n    indented\n    """\n{many}\n',
        "package/deep.py": f"{many}\ny = 1\n",
        "tiny.py": '"""Too short."""\nx = 1\n',
        "broken.py": "def f(:\n" + many,
        "latin.py": f"# -*- coding: latin-1 -*-\ncaf\u00e9 = 1\n{many}\n",
        "test/test_kept.py": f"{many}\nthe_test = 1\n",
        "package/tests/a.py": f"{many}\nthe_test = 2\n",
        "site-packages/other.py": f"{many}\nother = 1\n",
        "__pycache__/kept.py": f"{many}\ncached = 1\n",
        "pydoc_data/topics.py": f"topics = {{'a': {'chapter ' * 20!r}, 'b': 'short'}}\n",
    }
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="latin-1" if name == "latin.py" else "utf-8")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for cached in (builtin._hashed, builtin._library, builtin._part_of_library, library_sha256):
        cached.cache_clear()


def all_documents(domain: builtin.Domain) -> list[str]:
    return [*builtin_documents(domain, "measure"), *builtin_documents(domain, "train")]


@pytest.mark.usefixtures("planted")
def test_a_planted_library_gives_its_documents() -> None:
    many = "\n".join(f"x{n} = {n}" for n in range(30)) + "\n"
    assert sorted(all_documents("code")) == sorted([many, f"{many}y = 1\n", f"caf\u00e9 = 1\n{many}"])
    prose = [("Prose of some length. " * 6).rstrip(" ") + " \n\nindented", "chapter " * 20]
    assert sorted(text.strip() for text in all_documents("prose")) == sorted(text.strip() for text in prose)


def test_a_library_that_was_read_is_not_parsed_again(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "site-packages" / "cache"  # where no library lies
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    first = {domain: all_documents(domain) for domain in DOMAINS}
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(builtin, "_documents", None)
        assert {domain: all_documents(domain) for domain in DOMAINS} == first
    # Of other files nothing is known, nor of a file that is no longer what was written.
    (planted / "kept.py").write_text("\n".join(f"changed_{n} = {n}" for n in range(30)))
    forget()
    assert any("changed_7" in text for text in all_documents("code"))
    second = {domain: all_documents(domain) for domain in DOMAINS}
    for path in (cache / "neurothek" / "texts").iterdir():
        path.write_bytes(path.read_bytes().replace(b"changed", b"damaged"))
    forget()
    assert {domain: all_documents(domain) for domain in DOMAINS} == second


def test_a_part_of_a_library_that_was_read_is_not_parsed_again(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "site-packages" / "cache"))
    first = some_documents("train", n_files=100, n_arithmetic=0)
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(builtin, "_documents", None)
        assert some_documents("train", n_files=100, n_arithmetic=0) == first
        # Another part was never read.
        with pytest.raises(TypeError):
            some_documents("train", n_files=1, n_arithmetic=0)
    (planted / "kept.py").write_text("\n".join(f"changed_{n} = {n}" for n in range(30)))
    forget()
    changed = [some_documents(split, n_files=100, n_arithmetic=0)["code"] for split in get_args(builtin.TextPart)]
    assert any("changed_7" in text for texts in changed for text in texts)


def test_the_librarys_hash_follows_its_files(planted: Path) -> None:
    before = library_sha256()
    (planted / "test" / "test_kept.py").write_text("changed = 1")
    forget()
    assert library_sha256() == before
    (planted / "kept.py").write_text("changed = 1")
    forget()
    assert library_sha256() != before


@pytest.mark.usefixtures("planted")
def test_some_documents_are_among_all_of_their_split() -> None:
    for split in get_args(builtin.TextPart):
        of_files: tuple[builtin.Domain, ...] = ("code", "prose")
        everything = {domain: set(builtin_documents(domain, split)) for domain in of_files}
        whole = some_documents(split, n_files=100, n_arithmetic=40)
        assert {domain: set(whole[domain]) for domain in everything} == everything
        assert set(whole["math"]) <= set(arithmetic_documents(40))
        few = some_documents(split, n_files=0, n_arithmetic=0)
        # The language reference is always read.
        assert few == {"code": [], "math": [], "prose": [text for text in whole["prose"] if text.startswith("chapter")]}
        assert some_documents(split, n_files=2, n_arithmetic=40)["math"] == whole["math"]
    both = [*some_documents("measure", n_files=0, n_arithmetic=40)["math"], *whole["math"]]
    assert sorted(both) == sorted(arithmetic_documents(40))


@pytest.mark.parametrize(
    "domain", [pytest.param(domain, marks=[pytest.mark.long] * (domain != "math")) for domain in DOMAINS]
)
def test_measured_and_trained_documents_are_disjoint_and_cover_the_domain(domain: builtin.Domain) -> None:
    measured, trained = list(builtin_documents(domain, "measure")), list(builtin_documents(domain, "train"))
    assert len({*measured, *trained}) == len(measured) + len(trained)
    for texts, is_kept in ((measured, True), (trained, False)):
        assert all((int(hashlib.sha256(text.encode()).hexdigest(), 16) % 10 == 0) == is_kept for text in texts)
    # A tenth, give or take four standard deviations of a fair draw.
    n = len(measured) + len(trained)
    assert abs(len(measured) - n / 10) < 4 * (n * 0.09) ** 0.5
    assert all(len(text) >= 80 for text in measured + trained)
    assert list(builtin_documents(domain, "measure")) == measured


@pytest.mark.long
def test_code_holds_no_comment_and_prose_no_code() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in list(builtin_documents("code", "measure"))[:20]:
            assert "\n\n\n" not in text
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            try:
                assert all(token.type != tokenize.COMMENT for token in tokens)
            except (tokenize.TokenError, IndentationError):
                continue  # a body that was nothing but its docstring


def test_arithmetic_is_seeded_and_varied() -> None:
    assert list(arithmetic_documents(5)) == list(arithmetic_documents(8))[:5]
    documents_ = list(arithmetic_documents(200))
    assert len(set(documents_)) == 200
    counts = [len(text.splitlines()) for text in documents_]
    assert min(counts) >= 24
    assert max(counts) <= 48
    first_words = {line.split()[0] for text in documents_ for line in text.splitlines()[::2]}
    assert len(first_words) > 10
    assert len(KINDS) > 15


NUMBER = r"(-?\d+)"
RULES: tuple[tuple[str, Callable[..., object]], ...] = (
    (rf"What is {NUMBER} \+ {NUMBER}\?", lambda a, b: a + b),
    (rf"Take {NUMBER} away from {NUMBER}\.", lambda a, b: b - a),
    (rf"Multiply {NUMBER} by {NUMBER}\.", lambda a, b: a * b),
    (rf"Divide {NUMBER} by {NUMBER}\.", Fraction),
    (rf"What is left over when {NUMBER} is divided by {NUMBER}\?", lambda a, b: a - b * (a // b)),
    (rf"Which is bigger: {NUMBER} or {NUMBER}\?", lambda a, b: a if a > b else b),
    (rf"Is {NUMBER} a factor of {NUMBER}\?", lambda a, b: "yes" if b / a == b // a else "no"),
    (rf"Solve {NUMBER}\*\w \+ {NUMBER} = {NUMBER} for \w\.", lambda a, b, c: (c - b) // a),
    (rf"What comes next: {NUMBER}, {NUMBER}, {NUMBER}, {NUMBER}\?", lambda _a, _b, c, d: d + d - c),
)


def test_answers_are_right() -> None:
    checked = dict.fromkeys(range(len(RULES)), 0)
    for text in arithmetic_documents(150):
        lines = text.splitlines()
        for question, answer in zip(lines[::2], lines[1::2], strict=True):
            for rule, (pattern, solve) in enumerate(RULES):
                found = re.fullmatch(pattern, question)
                if found:
                    assert str(solve(*(int(number) for number in found.groups()))) == answer, question
                    checked[rule] += 1
    assert min(checked.values()) > 10
