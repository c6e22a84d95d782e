"""What the browser calls a page, in its tabs, its history and its bookmarks: what the page is about comes first."""

from collections.abc import Mapping

from neurothek.dashboards.addresses import FRONT, PAGES
from neurothek.dashboards.widgets.address import address_parts

_PRODUCT = "neurothek"
_MOST_LETTERS = 60
"""Of what a person typed."""


def title_of(page: str, asked: Mapping[str, str]) -> str:
    """The title of a page, such as "mini-opt-2m/L3N170 · neurothek" or "school · Search · neurothek".

    Args:
        page: name of the page.
        asked: what its address asks for.
    """
    subject = _shortened(_subject(page, asked))
    if page == "neuron" and subject:
        # An address says itself that it is a neuron's.
        return f"{subject} · {_PRODUCT}"
    name = "Compare" if page == FRONT else PAGES.get(page, "")
    return " · ".join(part for part in (subject, name, _PRODUCT) if part)


def _subject(page: str, asked: Mapping[str, str]) -> str:
    """What the address asks the page about; empty where it names nothing."""
    if page == "search":
        return _searched(asked)
    if page in ("trace", "events") and (typed := asked.get("prompt" if page == "trace" else "word")):
        return typed
    if page == "neuron":
        return asked.get("neuron", "")
    model, layer, _ = address_parts(asked)
    if page == "layer" and model and layer:
        return f"{model}/L{layer}"
    return model or ""


def _searched(asked: Mapping[str, str]) -> str:
    if words := asked.get("words"):
        return words
    if triggers := asked.get("triggered_by"):
        return f"fires on {triggers}"
    return f"like {like}" if (like := asked.get("like")) else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_LETTERS else f"{line[: _MOST_LETTERS - 1].rstrip()}…"
