"""Which pages there are: name of the file in screens/, which is the last part of the page's address, and its title."""

PAGES = {
    "search": "Search",
    "neuron": "Neuron",
    "layer": "Layer",
    "model": "Model",
    "position": "Positions",
    "clusters": "Clusters",
    "events": "Events",
    "shortcuts": "Shortcuts",
    "interventions": "Interventions",
    "trace": "Trace",
    "annotate": "Annotate",
    "sql": "SQL",
}
"""All pages but the first, which stands at the address of the dashboard itself."""
