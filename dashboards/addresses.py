"""Which pages there are, in the groups of the navigation: each by the last part of its address, with its title."""

from collections.abc import Mapping

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Explore": {
        "search": "Search",
        "model": "Model",
        "layer": "Layer",
        "neuron": "Neuron",
        "clusters": "Clusters",
        "position": "Positions",
    },
    "Predictions": {
        "trace": "Trace",
        "events": "Events",
        "shortcuts": "Shortcuts",
        "interventions": "Interventions",
    },
    "Tools": {
        "annotate": "Annotate",
        "sql": "SQL",
    },
}
"""The navigation's menus: the last part of a page's address, which is the name of its file too, and its title."""

PAGES = {name: title for pages in SECTIONS.values() for name, title in pages.items()}
"""All pages but the first, which stands at the address of the dashboard itself."""

FRONT = "compare"
"""Name of the first page."""

OTHER_NAMES = {
    "compare": "",
    "cluster": "clusters",
    "event": "events",
    "intervention": "interventions",
    "layers": "layer",
    "models": "model",
    "neurons": "neuron",
    "positions": "position",
    "shortcut": "shortcuts",
    "traces": "trace",
}
"""What people type for an address, and the one that they mean."""

_FOLDERS = {name: f"{section.lower()}/" for section in ("Explore", "Predictions") for name in SECTIONS[section]}


def script_of(name: str) -> str:
    """Where the file of a page lies, as Streamlit names it; `FRONT` for the first page."""
    if name != FRONT and name not in PAGES:
        raise KeyError(f"no page is called {name}")
    return f"screens/{_FOLDERS.get(name, '')}{name}.py"
