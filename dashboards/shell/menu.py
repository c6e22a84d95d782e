"""The navigation: pages in their groups, those that this warehouse has no data for last."""

from collections.abc import Collection, Mapping

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.addresses import FRONT, SECTIONS, script_of
from neurothek.dashboards.widgets.warehouse import jobs_of_models

NEEDS: Mapping[str, Collection[str]] = {
    "clusters": ("clusters",),
    "position": ("positions",),
    "events": ("events",),
    "shortcuts": ("shortcuts",),
    "interventions": ("interventions", "neuron_effects"),
}
"""The jobs of which a page needs one to have anything to show."""


def pages(measured: Collection[str] | None) -> dict[str, list[StreamlitPage]]:
    """The pages by the title of their group, which has none for the first.

    Args:
        measured: names of the jobs that any model was measured by; None where nobody knows.
    """
    return {
        "": [st.Page(script_of(FRONT), title="Compare", default=True)],
        **{
            section: [
                st.Page(script_of(name), title=titles[name], url_path=name) for name in in_order(titles, measured)
            ]
            for section, titles in SECTIONS.items()
        },
    }


def in_order(names: Collection[str], measured: Collection[str] | None) -> list[str]:
    """Names of pages as they are listed: those with data first, each half as it was."""
    if measured is None:
        return list(names)
    return sorted(names, key=lambda name: name in NEEDS and not set(NEEDS[name]) & set(measured))


def measured_jobs() -> list[str] | None:
    """Names of the jobs that any model of the warehouse was measured by; None where there is no warehouse."""
    try:
        return sorted({job for jobs in jobs_of_models().values() for job in jobs})
    except NeurothekError:
        return None
