"""SQL at a prompt: lines until a semicolon, with a history that stays and names completed from the warehouse."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import duckdb
import platformdirs
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from neurothek.queries.views.install import all_views

_KEYWORDS = (
    *("select", "from", "where", "group by", "order by", "having", "limit", "join", "using", "with", "as", "distinct"),
    *("count(*)", "avg(", "sum(", "min(", "max(", "list_contains(", "describe", "summarize", "show tables", "explain"),
)
_BEFORE_A_RELATION = {"from", "join", "describe", "summarize", "show", "table"}
_LEAVE = {"exit", "quit", r"\q"}
_WORD = re.compile(r"[\w.]+")
_LETTERS = 2
"""Letters of a name before columns are offered: without any there are hundreds."""


class SqlCompleter(Completer):
    """Views and tables where one must follow, else columns (of the views in the text first) and words of SQL."""

    def __init__(self, relations: Sequence[str]) -> None:
        """Complete these relations and the columns of the views."""
        self._relations = list(relations)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Names that begin as the word before the cursor does."""
        before = document.text_before_cursor
        word = document.get_word_before_cursor(pattern=_WORD)
        words = before[: len(before) - len(word)].split()
        if words and words[-1].casefold() in _BEFORE_A_RELATION:
            return self._offer(word, self._relations)
        if len(word) < _LETTERS and not complete_event.completion_requested:
            return []
        return self._offer(word, [*self._columns(document.text), *_KEYWORDS, *self._relations])

    def _columns(self, text: str) -> list[str]:
        mentioned = [view for name, view in all_views().items() if name in text.replace(",", " ").split()]
        views = mentioned or list(all_views().values())
        return sorted({column for view in views for column in view.columns})

    @staticmethod
    def _offer(word: str, names: Iterable[str]) -> Iterable[Completion]:
        begun = [name for name in dict.fromkeys(names) if name.casefold().startswith(word.casefold())]
        return [Completion(name, start_position=-len(word)) for name in begun if name != word]


def converse(
    relations: Sequence[str],
    answer: Callable[[str], None],
    *,
    history: Path | None = None,
    source: Input | None = None,
    screen: Output | None = None,
) -> None:
    """Read queries until the person leaves with Ctrl-D or `exit`, and hand each to `answer`.

    Args:
        relations: views and tables to complete.
        answer: shows the answer of one query, or why there is none; it handles its own errors.
        history: file that keeps what was typed; without one it is kept for this conversation only.
        source: keyboard, the terminal's by default.
        screen: screen, the terminal's by default.
    """
    session: PromptSession[str] = PromptSession(
        "sql> ",
        history=InMemoryHistory() if history is None else FileHistory(str(history)),
        completer=SqlCompleter(relations),
        complete_while_typing=False,
        multiline=Condition(lambda: not _is_whole(session.default_buffer.text)),
        prompt_continuation="  -> ",
        input=source,
        output=screen,
    )
    while True:
        try:
            text = session.prompt().strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if text.rstrip(";").casefold() in _LEAVE:
            return
        if text.rstrip(";"):
            answer(text)


def history_file() -> Path | None:
    """Where a person's queries are kept, or None where no file can be."""
    folder = Path(platformdirs.user_state_dir("neurothek"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / "sql_history"


def _is_whole(text: str) -> bool:
    """Whether Enter ends the query: after a semicolon, an empty line, or a word that leaves."""
    text = text.rstrip(" ")
    if not text.strip() or text.endswith("\n") or text.strip().casefold() in _LEAVE:
        return True
    written = text.encode()
    # A comment may stand behind the semicolon; in a text that is not closed nothing is one.
    starts = [start for start, kind in duckdb.tokenize(text) if kind != duckdb.token_type.comment]
    return bool(starts) and written[starts[-1] : starts[-1] + 1] == b";"
