"""What stands around every page: the navigation, the title, the tabs of a place, and the trail."""

from collections.abc import Collection, Mapping

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.addresses import FRONT, MENU, PAGES, PLACES, place_with, script_of
from neurothek.dashboards.widgets.address import address_parts
from neurothek.dashboards.widgets.html import SHEET
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import all_models, jobs_of_models

NEEDS: Mapping[str, Collection[str]] = {
    "clusters": ("clusters",),
    "position": ("positions",),
    "events": ("events",),
    "shortcuts": ("shortcuts",),
    "interventions": ("interventions", "neuron_effects"),
}
"""The jobs of which a page needs one to have anything to show."""


def pages(measured: Collection[str] | None) -> dict[str, list[StreamlitPage]]:
    """The pages by the title of their group, which has none for the places; a place's other pages are not listed.

    Args:
        measured: names of the jobs that any model was measured by; None where nobody knows.
    """
    places = [(place, name) for place, names in PLACES.items() if place != MENU for name in names]
    firsts = {next(iter(names)) for names in PLACES.values()}
    return {
        "": [
            st.Page(
                script_of(name),
                title=place if name in firsts else PAGES[name],
                url_path=None if name == FRONT else name,
                default=name == FRONT,
                visibility="visible" if name in firsts else "hidden",
            )
            for place, name in places
        ],
        MENU: [st.Page(script_of(name), title=PAGES[name], url_path=name) for name in in_order(PLACES[MENU], measured)],
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


_PRODUCT = "neurothek"
_MOST_LETTERS = 60
"""Of what a person typed."""


def title_of(page: str, parameters: Mapping[str, str]) -> str:
    """The title of a page, such as "mini-opt-2m/L3N170 · neurothek" or "school · Search · neurothek".

    Args:
        page: name of the page.
        parameters: what its address asks for.
    """
    subject = _shortened(_subject(page, parameters))
    if page == "neuron" and subject:
        # An address says itself that it is a neuron's.
        return f"{subject} · {_PRODUCT}"
    name = place_with(FRONT) if page == FRONT else PAGES.get(page, "")
    return " · ".join(part for part in (subject, name, _PRODUCT) if part)


def _subject(page: str, parameters: Mapping[str, str]) -> str:
    """What the address asks the page about; empty where it names nothing."""
    if page == "search":
        return _searched(parameters)
    if page in ("trace", "events") and (typed := parameters.get("prompt" if page == "trace" else "word")):
        return typed
    if page == "neuron":
        return parameters.get("neuron", "")
    model, layer, _ = address_parts(parameters)
    if page == "layer" and model and layer:
        return f"{model}/L{layer}"
    return model or ""


def _searched(parameters: Mapping[str, str]) -> str:
    if words := parameters.get("words"):
        return words
    if triggers := parameters.get("triggered_by"):
        return f"fires on {triggers}"
    return f"like {like}" if (like := parameters.get("like")) else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_LETTERS else f"{line[: _MOST_LETTERS - 1].rstrip()}…"


_STEP = '<span class="nt-step">/</span>'


def trail_html(page: str, parameters: Mapping[str, str], n_layers: Mapping[str, int]) -> str:
    """The steps that lead to a page as HTML; empty for pages that are not about one model that there is.

    Args:
        page: name of the page.
        parameters: what its address asks for.
        n_layers: number of layers by model: a step leads to none that the warehouse lacks.
    """
    model, layer, neuron = address_parts(parameters)
    if model is None or model not in n_layers:
        return ""
    steps = [link_html(model, "model", model=model)]
    if page in ("layer", "neuron") and layer is not None and layer in map(str, range(n_layers[model])):
        steps.append(link_html(f"layer {layer}", "layer", model=model, layer=layer))
    if page == "neuron" and neuron is not None:
        steps.append(f"<span>neuron {neuron}</span>")
    return f'{SHEET}<nav class="nt-trail">{_STEP.join(steps)}</nav>'


def tabs_html(page: str, parameters: Mapping[str, str], measured: Collection[str] | None) -> str:
    """The pages of the place where a page stands as HTML, each a link that goes on with the same model.

    Args:
        page: name of the page.
        parameters: what its address asks for.
        measured: names of the jobs that any model was measured by; None where nobody knows.
    """
    place = place_with(page)
    if place == MENU:
        # What the navigation is marked by.
        return f'{SHEET}<span data-place="{place}"></span>'
    model = address_parts(parameters)[0] if place != "Compare" else None
    titles = {name: PLACES[place][name] for name in in_order(PLACES[place], measured)}
    tabs = "".join(_tab(name, title, model, is_here=name == page) for name, title in titles.items())
    return f'{SHEET}<nav class="nt-tabs" aria-label="{place}" data-place="{place}">{tabs}</nav>'


def _tab(name: str, title: str, model: str | None, *, is_here: bool) -> str:
    if is_here:
        return f'<span aria-current="page">{title}</span>'
    goes_on = {} if model is None or name in (FRONT, "search", "neuron") else {"model": model}
    return link_html(title, name, **goes_on)


def layers_of_models() -> dict[str, int]:
    """Number of layers of each model; none where there is no warehouse."""
    try:
        return {model.name: model.n_layers for model in all_models()}
    except NeurothekError:
        return {}
