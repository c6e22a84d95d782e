"""How long pages take on a warehouse of a million made-up neurons: scripts, search, and the first sight of a page.

`python -m benchmarks.bench_dashboard FILE` prints how long the scripts take on a warehouse that is there, and how long
a person does from a prompt to the text of a model with a neuron switched off.
"""

import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import duckdb
from playwright.sync_api import Locator, Page, sync_playwright
from streamlit import config
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

import neurothek
from benchmarks.timing import machine, publish_block, table
from neurothek.catalog.publishing.summaries import add_neurons, rebuild_facts
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.addresses import PAGES, script_of
from neurothek.dashboards.session import set_backend
from neurothek.queries.names.models import choose_models
from neurothek.queries.views import install
from tests.support.browser import chromium, served, server_of

SHAPES = ((20, 5_000), (30, 10_000), (40, 15_000))
VOCABULARY = 50_000
RUNS = 20
PROMPTS = ("The capital of France is", "to be or not to", "The king of England and the queen of")
WORDS = """
select word,
from promotions
where regexp_full_match(word, '[a-z]{4,}')
group by word
order by count(*) desc, word
limit ?
"""
APP = Path(__file__).parents[1] / "dashboards" / "app.py"
TEXT = """
insert into store.tokenizers by name
select 0 as tokenizer_id, 'made up' as name, '0' as sha256, $n as vocab_size, 2 as bos_token_id, 2 as eos_token_id;
insert into store.tokens by name
select
    0 as tokenizer_id, i as token_id, 'token' || i as piece, ' token' || i as text, 'token' || i as word,
    i < 4 as is_special,
from range($n) as ids (i);
insert into store.corpora by name
select
    0 as corpus_id, 'made up' as name, '0' as sha256, '0' as text_sha256, 0 as tokenizer_id, 3000000 as n_tokens,
    100 as n_sequences, 1024 as sequence_length, '{}' as recipe;
insert into store.sequences by name
select
    0 as corpus_id, i as sequence_id, 'prose' as domain, list_transform(range(50), lambda k: cast(4 + k * i as integer))
        as tokens, true as starts_document,
from range(100) as ids (i);
insert into store.token_counts by name
select 0 as corpus_id, domain, i as token_id, 20 as n_occurrences,
from range($n) as ids (i), (values ('code'), ('prose'), ('web')) as domains (domain);
"""


@dataclass(frozen=True)
class Stock:
    """What pages of a warehouse can be asked about."""

    shapes: Sequence[tuple[str, int, int]]  # name of each model, its layers, and neurons of each
    words: Sequence[str]  # to search for, one a turn


@dataclass(frozen=True)
class Taken:
    """How long one run of a page took."""

    wall_seconds: float
    processor_seconds: float  # of all threads of this process


MADE_UP = Stock(
    [(f"made-up-{model}", *shape) for model, shape in enumerate(SHAPES)],
    [f"token{4 + turn}" for turn in range(RUNS + 1)],
)


def main() -> None:
    """Take the figures and publish them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.duckdb"
        build(path)
        scripts = {name: [run.wall_seconds for run in runs_of(path, name, MADE_UP)] for name in PAGES}
        found = search_seconds(path)
        sights = sight_seconds(path)
        size = path.stat().st_size / 1e9
    rows: list[tuple[str, ...]] = [
        (
            f"script of {name}",
            f"{seconds[0]:.2f}",
            f"{statistics.median(seconds[1:]):.2f}",
            f"{p95(seconds[1:]):.2f}",
            "0.8",
        )
        for name, seconds in scripts.items()
    ]
    rows.append(
        ("search for a word", f"{found[0]:.2f}", f"{statistics.median(found[1:]):.2f}", f"{p95(found[1:]):.2f}", "0.3")
    )
    rows += [(f"first sight of {name}", f"{seconds:.2f}", "", "", "2.5") for name, seconds in sights.items()]
    n_neurons = sum(layers * d_ffn for layers, d_ffn in SHAPES)
    text = f"""## The dashboard

{n_neurons:,} made-up neurons of {len(SHAPES)} models, {size:.1f} GB. Scripts are whole runs of a page, {RUNS} each with
another neuron, layer, model or word, the first of them alone: what was asked before of an unchanged warehouse is kept.
The first sight is from starting the server to the page's heading in Chromium.

{table(("what", "first, seconds", "median", "p95", "goal"), rows)}

{machine()}
"""
    publish_block("dashboard", text)


def time_real(path: Path) -> None:
    """Print how long the scripts of pages take on a warehouse that is there, by the wall and by the processor."""
    with neurothek.open(path).warehouse.reader() as connection:
        models = [(model.name, model.n_layers, model.d_ffn) for model in choose_models(connection)]
        words = [word for (word,) in connection.execute(WORDS, [RUNS + 1]).fetchall()]
    print("script of: first, wall; median, wall; p95, wall; median, processor; p95, processor; in seconds")
    for name in PAGES:
        first, *runs = runs_of(path, name, Stock(models, words))
        wall, busy = [run.wall_seconds for run in runs], [run.processor_seconds for run in runs]
        numbers = (first.wall_seconds, statistics.median(wall), p95(wall), statistics.median(busy), p95(busy))
        print(f"{name}: {'; '.join(f'{number:.2f}' for number in numbers)}", flush=True)


FLOW = ("a prompt, to its grid", "a cell, to its neurons", "a neuron, to its contexts", "off, to the two texts")


def time_flow(path: Path) -> None:
    """Print how long each click takes from a prompt on the first page to the text with a neuron switched off.

    The first way loads the model; of the others, each with another prompt, the median counts.
    """
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        with server_of(path, Path(folder) / "server.log") as (base, server):
            ways = [_way(page, base, server, prompt) for prompt in (*PROMPTS, *PROMPTS_MORE)]
        browser.close()
    print("a click: first; median of the next, wall; median of the next, processor of the server; in seconds")
    first, *warm = ways
    for place, name in enumerate((*FLOW, "all")):
        wall, busy = ([way[place][kind] for way in warm] for kind in (0, 1))
        print(f"{name}: {first[place][0]:.2f}; {statistics.median(wall):.2f}; {statistics.median(busy):.2f}")


PROMPTS_MORE = ("The cat sat on the", "In the year 1999 the", "The children went to the", "My favourite colour is")


def _way(page: Page, base: str, server: int, prompt: str) -> list[tuple[float, float]]:
    """Wall and processor seconds of each step, then of all."""
    page.goto(base)
    field = page.get_by_role("textbox", name="Word, prompt or address")
    field.wait_for()
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    field.fill(prompt)
    cell, neuron = page.locator("[role=grid] button"), page.locator(".pane .neuron").first
    off, texts = page.get_by_role("button", name="Switch it o"), page.locator(".written")
    steps: list[tuple[Callable[[], None], Locator]] = [
        (lambda: field.press("Enter"), cell.first),
        (lambda: cell.nth(7).click(), neuron),
        (neuron.click, off),
        (off.click, texts.nth(2)),
    ]
    taken = []
    for step, shown in steps:
        before, started = _processor_seconds(server), time.perf_counter()
        step()
        shown.wait_for()
        taken.append((time.perf_counter() - started, _processor_seconds(server) - before))
    return [*taken, (sum(wall for wall, _ in taken), sum(busy for _, busy in taken))]


def _processor_seconds(process: int) -> float:
    """What a process has used so far, as Linux counts it."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def build(path: Path) -> None:
    """Write the warehouse."""
    scripts = [
        Path(__file__).with_name(f"large_{part}.sql").read_text("utf-8") for part in ("warehouse", "predictions")
    ]
    with Warehouse(path, views=install).transaction() as connection:
        _run(connection, TEXT, {"n": VOCABULARY})
        for model, (layers, d_ffn) in enumerate(SHAPES):
            shape = {"model": model, "layers": layers, "d_ffn": d_ffn, "vocabulary": VOCABULARY}
            for script in scripts:
                _run(connection, script, shape)
            add_neurons(connection)
            rebuild_facts(connection, model)


def _run(connection: duckdb.DuckDBPyConnection, script: str, values: Mapping[str, int]) -> None:
    """Run each statement with those of the values that it names."""
    for statement in connection.extract_statements(script):
        named = {name: value for name, value in values.items() if name in statement.named_parameters}
        connection.execute(statement, named)


def runs_of(path: Path, name: str, stock: Stock) -> list[Taken]:
    """Runs of a page, each a new visit that asks another thing."""
    set_backend(neurothek.open(path))
    # As the command serves pages: nobody is told what they call, and their source is run as it stands.
    config.set_option("browser.gatherUsageStats", False)
    config.set_option("runner.magicEnabled", False)
    runs: list[Taken] = []
    for turn in range(RUNS + 1):
        app = AppTest.from_file(str(APP), default_timeout=120)
        if name != "compare":
            app.switch_page(script_of(name))
        for key, value in _asked(name, turn, stock).items():
            app.query_params[key] = value
        with mock.patch.object(script_runner, _EXECUTE, _timed(getattr(script_runner, _EXECUTE), runs)):
            app.run()
        assert not app.exception, (name, app.exception)
        assert not app.error, (name, [error.value for error in app.error])
    return runs


_EXECUTE = "exec_func_with_error_handling"
"""What Streamlit runs a script by: what a test makes of the answer, a server never does."""


def _timed(execute: Callable[..., Any], runs: list[Taken]) -> Callable[..., Any]:
    def run(*arguments: object) -> object:
        started, busy = time.perf_counter(), time.process_time()
        try:
            return execute(*arguments)
        finally:
            runs.append(Taken(time.perf_counter() - started, time.process_time() - busy))

    return run


def _asked(name: str, turn: int, stock: Stock) -> dict[str, str]:
    model, layers, d_ffn = stock.shapes[turn % len(stock.shapes)]
    place = {"model": model}
    word = stock.words[turn % len(stock.words)]
    return {
        "search": {"words": word},
        "trace": {**place, "prompt": PROMPTS[turn % len(PROMPTS)]},
        "neuron": {"neuron": f"{model}/L{turn % layers}N{turn * 37 % d_ffn}"},
        "layer": {**place, "layer": str(turn % layers)},
        "model": place,
        "position": place,
        "events": {"word": word},
        "shortcuts": place,
        "annotate": {**place, "annotator": "carl", "part": "results"},
        "clusters": {**place, "cluster": str(turn)},
        "sql": {"query": f"from neurons where layer = {turn % layers} limit 100"},
    }.get(name, {})


def search_seconds(path: Path) -> list[float]:
    """Wall times of searches for a word in all models."""
    warehouse = neurothek.open(path)
    return [_seconds(lambda word=f"token{number}": warehouse.search(word)) for number in range(200, 201 + RUNS)]  # type: ignore[misc]


def sight_seconds(path: Path) -> dict[str, float]:
    """From starting the server to the heading of a page, and to that of the page opened next."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        started = time.perf_counter()
        with served(path, path.with_name("server.log")) as base:
            page.goto(base)
            page.wait_for_selector("h1")
            first = time.perf_counter() - started
            started = time.perf_counter()
            page.goto(f"{base}/search?words=token77")
            page.wait_for_selector("a.nt-row")
            second = time.perf_counter() - started
        browser.close()
    return {"a fresh server": first, "a search": second}


def p95(seconds: list[float]) -> float:
    """The time that 95% of the runs stay below."""
    return sorted(seconds)[math.ceil(0.95 * len(seconds)) - 1]


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


if __name__ == "__main__":
    time_flow(Path(sys.argv[1]))
    time_real(Path(sys.argv[1]))
