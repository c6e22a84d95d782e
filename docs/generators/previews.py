"""Pictures of pages for warehouses that have no data for them: `python -m docs.generators.previews WAREHOUSE`.

Needs Chromium, and the demo's warehouse.
"""

import io
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

import polars as pl
from PIL import Image
from playwright.sync_api import BrowserContext, sync_playwright

import neurothek
from neurothek.dashboards.shell.navigation import NEEDS
from neurothek.dashboards.widgets.page import FOLDER
from tests.support.browser import served, visitor, windows

HEIGHT = 900
"""Pixels: the first sight of a page tells what it is."""

_WIDTH = 900
_TOP = 100
"""Pixels of the navigation and of the line below it, which the page itself has."""


def take(warehouse: Path) -> None:
    """Take the picture of every page that may lack data."""
    FOLDER.mkdir(exist_ok=True)
    models = neurothek.open(warehouse).models()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        at, log = Path(folder) / "profile", Path(folder) / "server.log"
        with served(warehouse, log) as address, windows(playwright, at) as browser:
            for name, jobs in NEEDS.items():
                model = largest_with(models, jobs)
                (FOLDER / f"{name}.webp").write_bytes(_picture(browser, address, name, model))


def largest_with(models: pl.DataFrame, jobs: Collection[str]) -> str:
    """The largest model that one of the jobs measured: only of such a one does a page show what it is for.

    Args:
        models: rows of the models with their size and jobs.
        jobs: names.

    Raises:
        ValueError: no model was measured by any.
    """
    measured = [row for row in models.rows(named=True) if set(row["jobs"]) & set(jobs)]
    if not measured:
        raise ValueError(f"no model was measured by {' or '.join(jobs)}: measure the whole demo first")
    return str(max(measured, key=lambda row: row["size"])["model"])


def _picture(browser: BrowserContext, address: str, name: str, model: str) -> bytes:
    with visitor(browser, address) as looking:
        looking.page.set_viewport_size({"width": 1440, "height": HEIGHT})
        looking.open(name, model=model)
        looking.page.wait_for_timeout(2_000)
        if looking.page.locator(".st-key-preview").count():
            raise ValueError(f"the page {name} has nothing to show of {model}: it would be a picture of a picture")
        shot: Image.Image = Image.open(io.BytesIO(looking.page.screenshot()))
    shot = shot.crop((0, _TOP, shot.width, shot.height)).convert("RGB")
    shot = shot.resize((_WIDTH, round(shot.height * _WIDTH / shot.width)))
    content = io.BytesIO()
    shot.save(content, "webp", quality=70)
    return content.getvalue()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
