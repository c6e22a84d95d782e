"""What stands around every page: the navigation, the title, the trail, and the box for a word or an address."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.addresses import FRONT, PAGES, SECTIONS, script_of
from neurothek.dashboards.widgets.address import address_parts, kept_model, start_afresh
from neurothek.dashboards.widgets.html import SHEET
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import all_models, jobs_of_models
from neurothek.queries.names.models import is_address

BOX = "box"
"""Key of the field, which the key / leads to."""

_GOAL = "box_goal"
_LAYER = re.compile(r"(?P<model>[A-Za-z0-9._@+-]+)/[Ll](?P<layer>\d{1,5})", re.ASCII)
_SHORT = re.compile(r"[Ll]\d{1,5}([Nn]\d{1,9})?", re.ASCII)


@dataclass(frozen=True)
class Goal:
    """Where the box leads."""

    page: str  # name of the page
    parameters: dict[str, str] = field(default_factory=dict)  # what the page is asked for


def goal_of(typed: str, models: Collection[str], model: str | None) -> Goal | None:
    """Where something typed leads; None where nothing was.

    Args:
        typed: a word or several, `model/L3N17`, `model/L3`, `L3N17` or `L3` of the model at hand, or a model's name.
        models: names of the models that there are.
        model: the model at hand.
    """
    text = typed.strip()
    if not text:
        return None
    if model is not None and _SHORT.fullmatch(text):
        text = f"{model}/{text}"
    if is_address(text):
        return Goal("neuron", {"neuron": text})
    if layer := _LAYER.fullmatch(text):
        return Goal("layer", layer.groupdict())
    return Goal("model", {"model": text}) if text in models else Goal("search", {"words": text})


def draw_box() -> None:
    """The field."""
    st.text_input(
        "Word or address",
        key=BOX,
        placeholder="word or model/L3N17 · press /",
        label_visibility="collapsed",
        width=280,
        on_change=_typed,
    )


def follow_box() -> None:
    """Go where the field leads, if something was typed into it."""
    goal: Goal | None = st.session_state.pop(_GOAL, None)
    if goal is not None:
        st.switch_page(script_of(goal.page), query_params=goal.parameters)


def _typed() -> None:
    st.session_state[_GOAL] = goal_of(st.session_state[BOX], _models(), kept_model())
    st.session_state[BOX] = ""
    # The fields of the page at hand may be those of the page that it leads to.
    start_afresh()


def _models() -> list[str]:
    try:
        return [model.name for model in all_models()]
    except NeurothekError:
        # The page says why; a word is a word without models too.
        return []


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
    name = "Compare" if page == FRONT else PAGES.get(page, "")
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
    steps = [link_html("Compare", "compare"), link_html(model, "model", model=model)]
    if page not in ("model", "layer", "neuron"):
        steps.append(f"<span>{PAGES.get(page, '')}</span>")
    if page in ("layer", "neuron") and layer is not None and layer in map(str, range(n_layers[model])):
        steps.append(link_html(f"layer {layer}", "layer", model=model, layer=layer))
    if page == "neuron" and neuron is not None:
        steps.append(f"<span>neuron {neuron}</span>")
    return f'{SHEET}<nav class="nt-trail">{_STEP.join(steps)}</nav>'


def layers_of_models() -> dict[str, int]:
    """Number of layers of each model; none where there is no warehouse."""
    try:
        return {model.name: model.n_layers for model in all_models()}
    except NeurothekError:
        return {}
