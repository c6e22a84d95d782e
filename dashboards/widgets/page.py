"""What every page shares: its lease on the warehouse, the person's theme, and how it says that something is missing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Literal

import duckdb
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from neurothek.catalog import advice
from neurothek.catalog.advice import DEFAULT_WAREHOUSE
from neurothek.catalog.hub.addresses import Place
from neurothek.catalog.problems import Busy, NeurothekError, NotMeasured, Unavailable
from neurothek.catalog.spelling import spoken_corpus
from neurothek.dashboards.addresses import PAGES
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets.html import plain, prose
from neurothek.dashboards.widgets.memory import cached_answer, warehouse_answer
from neurothek.queries.ask.statements import records
from neurothek.queries.names.durations import estimated
from neurothek.queries.names.models import KnownModel, choose_models
from neurothek.queries.names.unmeasured import ingest_commands

_FINISHED_JOBS = """\
-- Which jobs each model was measured by; one row without a job for a model that was by none.
select distinct models.name as model, runs.job,
from store.models as models
left join store.runs as runs on runs.model_id = models.model_id
order by models.name, runs.job
"""

Theme = Literal["light", "dark"]

# Streamlit leaves a finger's breadth below a chart, its editor sets SQL in the face of prose, and its captions, keys
# and options of commands are paler than 4.5:1.
_STYLE = """
<style>
.stMainBlockContainer h1 { font-size: 1.6rem; padding: 0.2rem 0 0.4rem; }
.stMainBlockContainer h2 { font-size: 1.1rem; padding: 0.8rem 0 0.2rem; }
.stMainBlockContainer .stElementContainer:has(.stVegaLiteChart) { margin-bottom: -1.2rem; }
.stMainBlockContainer [data-testid="stPageLink-NavLink"] { background: none; }
.stMainBlockContainer [data-testid="stPageLink-NavLink"] p { font-weight: 400; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { color: inherit; }
[data-testid="stCaptionContainer"] { opacity: 0.75; }
.stMainBlockContainer button kbd { color: inherit; opacity: 1; }
[class*="st-key-at-"] { flex-wrap: nowrap; }
[class*="st-key-at-"] > :first-child { min-width: 0; flex: 1 1 auto; }
[class*="st-key-at-"] > :last-child { flex: none; }
.stTextArea textarea { font-family: monospace; }
.nt-tok, .nt-prompt, .nt-windows p, .nt-along, .nt-text, .nt-name, .nt-tokens, .nt-columns dt {
  font-family: "Source Code Pro", monospace !important; }
.stMainBlockContainer .stButton button[kind="tertiary"] p,
.stMainBlockContainer .stDownloadButton button[kind="tertiary"] p { text-decoration: underline 1px #8a8a8a88;
  text-underline-offset: 3px; }
code.language-sh .token { color: inherit !important; }
.st-key-preview img { border: 1px solid #8a8a8a77; border-radius: 4px; }
@media (max-width: 1000px) {
  [class*="st-key-beside"] .stHorizontalBlock { flex-wrap: wrap; }
  [class*="st-key-beside"] .stColumn { min-width: 100%; }
  [class*="st-key-beside"] .stColumn .stHorizontalBlock { flex-wrap: nowrap; }
  [class*="st-key-beside"] .stColumn .stColumn { min-width: 0; }
  .st-key-beside-last-first .stColumn:last-child { order: -1; }
  .st-key-beside-last-first .stColumn .stColumn:last-child { order: 0; }
}
[data-testid="stLayoutWrapper"]:has(> .st-key-legend) { position: sticky; top: 3.7rem; z-index: 9; padding: 0.35rem 0;
  background: white; }
[class*="st-key-conclusion"] p { font-size: 1.3rem; line-height: 1.45; }
[class*="st-key-conclusion"] [data-testid="stCaptionContainer"] p { font-size: 0.9rem; line-height: 1.5; }
</style>
"""

# On black the accent is too dark for words on a choice's grey, where it is light enough behind white ones.
_DARK_STYLE = """
<style>
.stMainBlockContainer [role="radio"][data-selected="true"] p { color: #fafafa; }
[data-testid="stLayoutWrapper"]:has(> .st-key-legend) { background: #171614; }
.st-key-preview img { filter: invert(0.9) hue-rotate(180deg); }
</style>
"""


def answer(ask: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
    """Lease a reader for one run of a page, or of a part of it; what cannot be answered is said in a sentence.

    The door itself is asked, not `Neurothek.reader`, which may write the views of a new release first.
    """
    with show_errors(), backend().warehouse.reader() as connection:
        ask(connection)


@contextmanager
def show_errors() -> Iterator[None]:
    """Say in a sentence what cannot be answered."""
    try:
        yield
    except NeurothekError as error:
        if isinstance(error, Busy):
            st.error(as_sentence(error.message))
            # Any press runs the page again, whatever its key: several parts of a page may say so at once.
            st.button("Try again", key=f"again-{token_hex(4)}")
            return
        show = st.info if _is_only_missing(error) else st.error
        show(as_sentence(str(error)))


def _is_only_missing(error: NeurothekError) -> bool:
    """Whether nothing is wrong with the question: there is no warehouse or model yet, or its weights are elsewhere."""
    return isinstance(error, NotMeasured) or (isinstance(error, Unavailable) and error.what in ("warehouse", "weights"))


def heading(title: str) -> None:
    """The page's title, and what streamlit's own style lacks."""
    st.html(_STYLE + _DARK_STYLE if theme() == "dark" else _STYLE)
    st.title(plain(title), anchor=False)


def beside(name: str) -> DeltaGenerator:
    """Room for columns that stand under each other in a narrow window; those within them stay beside each other.

    Args:
        name: what tells it from other such rooms of the page.
    """
    return st.container(key=f"beside-{name}")


def say_first(sentence: str, rests_on: str = "", *, rule: str = "", key: str = "") -> None:
    """Say what a page or a part of it shows, in larger letters, before anything is drawn.

    Args:
        sentence: the conclusion.
        rests_on: what it rests on, in small letters below.
        rule: by which rule it is told; shown where somebody asks.
        key: what tells it from other conclusions of the page.
    """
    with st.container(key=f"conclusion-{key}" if key else "conclusion", gap="small"):
        st.markdown(prose(sentence), help=plain(rule) or None)
        if rests_on:
            st.caption(prose(rests_on))


def missing(
    connection: duckdb.DuckDBPyConnection,
    what: str,
    models: Sequence[str],
    *,
    jobs: Sequence[str] = ("activity", "contexts"),
    corpus: str | None = None,
) -> None:
    """Say in a line what was not measured, about how long that takes, and below it the commands that do it.

    They ask for the text that the models' other numbers rest on.

    Args:
        connection: a reader.
        what: what is missing, a sentence.
        models: the models that lack it.
        jobs: names of the jobs that measure it.
        corpus: the corpus that was asked for; None: each model's shown one.
    """
    commands = ingest_commands(connection, models, jobs, corpus)
    asked_for = "" if corpus is None else f" The selected corpus is {spoken_corpus(corpus)}."
    does_it = "This command measures" if len(commands) == 1 else "These commands measure"
    with st.container(gap="xsmall"):
        st.caption(plain(f"{what}{asked_for} {does_it} what is missing{time_needed(connection, models, jobs)}:"))
        show_command(*commands)


def time_needed(connection: duckdb.DuckDBPyConnection, models: Sequence[str], jobs: Sequence[str]) -> str:
    """How long jobs take on models, as the end of a sentence; empty where no model tells."""
    duration = cached_answer(connection, estimated, tuple(models), tuple(jobs))
    if duration is None:
        return ""
    return f" in {duration.in_words}, judging by {' and '.join(duration.measured)}"


def show_command(*commands: str) -> None:
    """Commands to copy, a line each, about the warehouse that the pages show, or about a copy of a catalog."""
    path, first = elsewhere(), []
    if backend().address is not None and any(command.split()[1] in _MEASURING for command in commands):
        first = [advice.command_line("copy", str(path), _COPY)]
        path = Path(_COPY)
    lines = first + [command if path is None else advice.with_warehouse(command, path) for command in commands]
    st.code("\n".join(lines), language="sh", wrap_lines=True)


_COPY = "catalog.duckdb"

_MEASURING = ("ingest", "intervene")
"""Commands that write what they measure, which a catalog refuses."""


def as_sentence(text: str) -> str:
    """A sentence as Markdown that shows it unchanged; what it recommends is about the warehouse that the pages show."""
    path = elsewhere()
    return plain(advice.about(text, path) if path else text)


def elsewhere() -> Place | None:
    """Where the warehouse lies, unless a command that is typed in this folder finds it by itself."""
    path = backend().address or backend().path
    return None if path.absolute() == Path(DEFAULT_WAREHOUSE).absolute() else path


def theme() -> Theme:
    """Whether the person's browser shows the page light or dark."""
    return st.context.theme.type or "light"


FOLDER = Path(__file__).with_name("previews")
CAPTION = "Preview of this section, drawn from the demo's small models."


def show_preview(page: str) -> None:
    """Draw the picture of a page, where there is one.

    Args:
        page: name of the page.
    """
    picture = FOLDER / f"{page}.webp"
    if picture.is_file():
        with st.container(key="preview"):
            st.caption(CAPTION)
            st.image(picture, width=900, alt=f"The page {PAGES[page]} of the demo's small models")


def all_models() -> list[KnownModel]:
    """The models, smallest first."""
    return warehouse_answer(choose_models)


def jobs_of_models() -> dict[str, list[str]]:
    """Name of each model -> names of the jobs that it was measured by."""
    return warehouse_answer(_jobs)


def _jobs(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    jobs: dict[str, list[str]] = {}
    for row in records(connection, _FINISHED_JOBS):
        jobs.setdefault(row["model"], []).extend([] if row["job"] is None else [row["job"]])
    return jobs
