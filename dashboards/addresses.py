"""Which pages there are, by the place where they stand: each by the last part of its address, with its title."""

from collections.abc import Mapping
from pathlib import Path

PLACES: Mapping[str, Mapping[str, str]] = {
    "Ask": {
        "ask": "Start",
        "search": "Search",
        "trace": "Trace",
    },
    "Look": {
        "model": "Model",
        "layer": "Layer",
        "neuron": "Neuron",
        "position": "Positions",
        "clusters": "Clusters",
        "events": "Events",
    },
    "Compare": {
        "compare": "Sizes",
        "shortcuts": "Shortcuts",
        "claims": "Claims",
    },
    "Tools": {
        "sql": "SQL",
        "annotate": "Annotate",
        "interventions": "Interventions",
    },
}
"""The navigation's places: the last part of a page's address, which is the name of its file too, and its title.

The pages of a place are its tabs, of which the navigation lists the first; those of the last place stand in a menu.
"""

MENU = "Tools"
"""The place whose pages the navigation lists one by one."""

FRONT = "ask"
"""Name of the first page, which stands at the address of the dashboard itself."""

PAGES = {name: title for pages in PLACES.values() for name, title in pages.items() if name != FRONT}
"""All pages but the first."""

OTHER_NAMES = {
    "ask": "",
    "claim": "claims",
    "cluster": "clusters",
    "event": "events",
    "intervention": "interventions",
    "layers": "layer",
    "models": "model",
    "neurons": "neuron",
    "positions": "position",
    "shortcut": "shortcuts",
    "sizes": "compare",
    "traces": "trace",
}
"""What people type for an address, and the one that they mean."""

_SCREENS = Path(__file__).with_name("screens")
_SCRIPTS = {path.stem: path.relative_to(_SCREENS.parent).as_posix() for path in _SCREENS.rglob("[a-z]*.py")}


def place_with(name: str) -> str:
    """The place where a page stands."""
    return next(place for place, pages in PLACES.items() if name in pages)


def script_of(name: str) -> str:
    """Where the file of a page lies, as Streamlit names it; `FRONT` for the first page."""
    if name != FRONT and name not in PAGES:
        raise KeyError(f"no page is called {name}")
    return _SCRIPTS[name]
