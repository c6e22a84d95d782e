"""Pages of the dashboard as a browser would open them, and what a person reads there."""

import html
import re
from functools import cache
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.dashboards.addresses import FRONT, script_of
from neurothek.dashboards.session import set_backend

# Streamlit looks through every installed package for components, half a second for each page that is opened.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

APP = Path(__file__).parents[2] / "dashboards" / "app.py"


def open_page(path: Path | str, name: str = "compare", **parameters: str) -> AppTest:
    """A page on a warehouse, with the parameters of its address."""
    set_backend(neurothek.open(path))
    app = AppTest.from_file(str(APP), default_timeout=120)
    if name != FRONT:
        app.switch_page(script_of(name))
    for key, value in parameters.items():
        app.query_params[key] = value
    return app.run()


def shown_text(app: AppTest) -> str:
    """All that stands on a page but for its charts: texts, what hovering tells, and the cells of tables."""
    assert not app.exception, app.exception
    texts = [element.value for element in (*app.markdown, *app.caption, *app.header, *app.code, *app.info)]
    for body in (element.proto.body for element in app.get("html")):
        told = re.sub(r"<style>.*?</style>", " ", body, flags=re.DOTALL)
        texts.append(html.unescape(re.sub(r'<[^>]*?title="([^"]*)"[^>]*>', r" \1 ", told)))
    cells = (cell for table in app.dataframe for row in table.value.itertuples(index=False) for cell in row)
    texts += (f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in cells)
    return re.sub(r"<[a-z/][^>]*>", " ", "\n".join(texts))
