"""A person at a browser: Debian's Chromium driven by Playwright, and the dashboard's server it looks at."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode

from playwright.sync_api import BrowserContext, Download, Locator, Page, Playwright, Position, expect
from playwright.sync_api import Error as PlaywrightError

from neurothek.dashboards.addresses import MENU

SCREENSHOTS = "NEUROTHEK_SCREENSHOTS"
"""The environment variable with the folder that keeps screenshots."""

PATIENCE_MS = 120_000
"""Nothing is measured here: a machine that does much else beside is waited for. Playwright's own 5 s are too few for
the first page of a server, which imports all that pages need."""

_STARTING_SECONDS = 120

_SHORT_TABLE = 16
"""Rows, with the names of the columns, of a table that is drawn whole."""

_EDGE = 2
"""Pixels."""

_REST_MS = 200

_ROW = 31
"""Pixels of a table's row, of the names above as well."""

_ANSWER_MS, _STILL_MS = 350, 150
"""Without a change of the page: after what a person did, whose run begins a while later; and of one that has arrived.
Streamlit says that a run has ended before its tables listen to clicks."""

_STILL = """
([quiet, most, patience]) => new Promise((done, fail) => {
  const start = performance.now();
  let last = start;
  const changed = () => { last = performance.now(); };
  const watch = new MutationObserver(changed);
  watch.observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
  const looking = setInterval(() => {
    const app = document.querySelector("[data-testid=stApp]");
    // A field whose script is still on its way is drawn as a grey box, after the page has run.
    const isDrawn = app?.dataset.testScriptState === "notRunning" &&
      !document.querySelector("[data-testid=stMain] [data-testid^=stSkeleton]");
    if (!isDrawn) changed();
    const now = performance.now();
    if (now - start > patience) fail(new Error("the page still runs"));
    else if (now - last < quiet && !(isDrawn && now - start > most)) return;
    clearInterval(looking);
    watch.disconnect();
    done();
  }, 20);
})
"""
"""Waits until the page has run and nothing of it has changed for a while, which a clock on it must not hold up."""

_MOST_MS = 5_000


def chromium() -> Path:
    """Debian's Chromium, or another of that make."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise FileNotFoundError("these tests need the browser Chromium: apt-get install chromium")


@contextmanager
def served(warehouse: Path, log: Path, *more: str, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The dashboard of a warehouse as `neurothek dashboard` serves it, with more options; yields its address."""
    with server_of(warehouse, log, *more, environment=environment) as (address, _):
        yield address


@contextmanager
def server_of(
    warehouse: Path, log: Path, *more: str, environment: Mapping[str, str] = os.environ
) -> Iterator[tuple[str, int]]:
    """As `served`; yields the number of the server's process as well."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = "import neurothek; neurothek.main()"
    options = ["dashboard", "--no-browser", "--port", str(port), "--warehouse", str(warehouse), *more]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-c", start, *options], stdout=output, stderr=output, env=dict(environment)
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", server, log)
            yield f"http://127.0.0.1:{port}", server.pid
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=_STARTING_SECONDS)


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text("utf-8")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.02)
    raise TimeoutError(f"the dashboard did not start:\n{log.read_text('utf-8')}")


@dataclass
class Visitor:
    """One window on a dashboard, and everything that went wrong in it."""

    page: Page  # the window
    base: str  # the dashboard's address
    # errors of the console and of scripts, refused requests, and requests to anybody else
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Watch the window."""
        page = self.page
        page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("response", lambda got: self.problems.append(f"{got.status} {got.url}") if got.status >= 400 else None)
        page.on("request", lambda request: self._check_address(request.url))

    def _check_address(self, url: str) -> None:
        here = (f"{self.base}/", self.base.replace("http", "ws", 1), "data:", "blob:")
        if not url.startswith(here):
            self.problems.append(f"asked elsewhere: {url}")

    def open(self, path: str = "", **parameters: str) -> None:
        """Type an address."""
        query = f"?{urlencode(parameters, quote_via=quote)}" if parameters else ""
        self.page.goto(f"{self.base}/{path}{query}")
        # Before its first run a page is as still as after it.
        self.page.wait_for_selector("h1")
        self.settle(_STILL_MS)

    def settle(self, quiet_ms: int = _ANSWER_MS) -> None:
        """Wait until the page has run and listens.

        Args:
            quiet_ms: without a change, in milliseconds.
        """
        while True:
            self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            try:
                self.page.evaluate(_STILL, [quiet_ms, _MOST_MS, PATIENCE_MS])
            except PlaywrightError as error:
                # It was loaded again meanwhile.
                if "context" not in str(error):
                    raise
            else:
                return

    @contextmanager
    def runs_again(self) -> Iterator[None]:
        """What is done in the block has the page run once more, which is waited for."""
        # An observer is told of a run however short it is.
        self.page.evaluate(
            """() => {
                window.ranAgain = false;
                const name = "data-test-script-state";
                const watch = new MutationObserver(changes => {
                    for (const { target, oldValue } of changes) {
                        if (oldValue === "running" || target.getAttribute(name) === "running") window.ranAgain = true;
                    }
                    if (window.ranAgain) watch.disconnect();
                });
                const all = { attributes: true, attributeFilter: [name], attributeOldValue: true, subtree: true };
                watch.observe(document, all);
            }"""
        )
        yield
        self.page.wait_for_function("() => window.ranAgain")
        self.settle(_STILL_MS)

    def arrive(self, heading: str) -> None:
        """Wait for a page with this in its heading; what follows the heading is still the page before's for a while."""
        expect(self.page.locator("h1").first).to_contain_text(heading)
        self.settle(_STILL_MS)

    def title(self) -> str:
        """The heading of the page."""
        return self.page.locator("h1").first.inner_text()

    def go(self, place: str, title: str) -> None:
        """Choose a page in the navigation: in its menu, or the tab of a place."""
        if place == MENU:
            self.page.get_by_role("button", name=place).click()
            self.page.get_by_role("menuitem", name=title, exact=True).click()
        else:
            self.page.get_by_role("link", name=place, exact=True).first.click()
            self.settle()
            tab = self.page.locator(".nt-tabs a", has_text=re.compile(f"^{title}$"))
            if tab.count():
                tab.click()
        self.settle()

    def follow_row(self, place: int = 0) -> None:
        """Click on the neuron of a row of results."""
        self.page.locator("a.nt-row").nth(place).click()
        self.settle()

    def click_row(
        self,
        table: str,
        number: int = 0,
        *,
        across: int = 28,
        modifiers: Sequence[Literal["Control", "Shift"]] = (),
    ) -> None:
        """Click a cell of a row: cells are drawn on a canvas, so it is a place and no element.

        Args:
            table: how the table's key begins.
            number: the row, counted from 0.
            across: pixels from the left edge; by itself within the first cell's text.
            modifiers: keys that are held.
        """
        frame = self.page.locator(f"[class*='st-key-{table}']").get_by_test_id("stDataFrame")
        # This waits until the table no longer moves: the charts above it may still be drawn.
        place: Position = {"x": across, "y": _ROW * (number + 1) + _ROW // 2}
        # An address on the canvas is a link once the pointer has rested on it, as a person's does.
        frame.hover(position=place)
        self.page.wait_for_timeout(_REST_MS)
        frame.click(position=place, modifiers=list(modifiers))
        self.settle()

    def charts(self) -> Locator:
        """The charts of the page."""
        return self.page.locator("[data-testid=stVegaLiteChart]")

    def hidden_rows(self) -> list[str]:
        """Short tables that scroll all the same, or that stand in more room than they take."""
        found = self.page.evaluate("""
            () => [...document.querySelectorAll("[data-testid=stDataFrame]")].map(table => {
              const [drawn, whole] = [".dvn-scroller", ".dvn-scroll-inner"].map(name => table.querySelector(name));
              const rows = Number(table.querySelector("table")?.getAttribute("aria-rowcount"));
              return [rows, drawn?.clientHeight ?? 0, whole?.scrollHeight ?? 0];
            })
        """)
        short = [one for one in found if 0 < one[0] <= _SHORT_TABLE]
        return [f"{rows} rows: {seen} of {whole}" for rows, seen, whole in short if abs(seen - whole) > _EDGE]

    def wide_texts(self) -> list[str]:
        """Tables of running texts that are wider than their room; the page cuts them off."""
        found: list[str] = self.page.evaluate("""
            () => [...document.querySelectorAll(".nt-texts")].filter(one => one.scrollWidth > one.clientWidth)
                .map(one => `${one.scrollWidth} of ${one.clientWidth}`)
        """)
        return found

    def download(self, label: str, number: int = 0) -> Download:
        """Press a download button and wait for the file."""
        with self.page.expect_download() as waiting:
            button = self.page.get_by_test_id("stDownloadButton").get_by_text(re.compile(f"^{label}$"))
            button.nth(number).click()
        return waiting.value

    def shoot(self, name: str, *, is_running: bool = False) -> None:
        """Keep a screenshot of the whole page, where somebody asked for them.

        Args:
            name: of the file.
            is_running: whether the page is still on its way and is shown as it is.
        """
        folder = os.environ.get(SCREENSHOTS)
        if not folder:
            return
        # Streamlit scrolls inside the window: the window is made as high as the page.
        size = self.page.viewport_size
        assert size is not None
        height = int(self.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight"))
        self.page.set_viewport_size({"width": size["width"], "height": min(4000, max(size["height"], height + 80))})
        if not is_running:
            self.settle()
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(Path(folder) / f"{name}.png"))
        self.page.set_viewport_size(size)


@contextmanager
def windows(playwright: Playwright, profile: Path) -> Iterator[BrowserContext]:
    """Windows of a browser that keeps a server's scripts, compiled, in a folder for all of them."""
    context = playwright.chromium.launch_persistent_context(
        profile,
        executable_path=chromium(),
        # Where tests run as root, as in a container, Chromium has no sandbox to offer.
        args=["--no-sandbox"],
        viewport={"width": 1440, "height": 1000},
        color_scheme="light",
        accept_downloads=True,
    )
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    try:
        yield context
    finally:
        context.close()


@contextmanager
def visitor(context: BrowserContext, base: str) -> Iterator[Visitor]:
    """A new window; whatever went wrong in it fails the test that looked."""
    with context.new_page() as page:
        looking = Visitor(page, base)
        yield looking
        assert looking.problems == []
