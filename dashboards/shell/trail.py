"""Where a page stands: its model, its layer, its neuron, each a way up."""

from collections.abc import Mapping

from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.addresses import PAGES
from neurothek.dashboards.widgets.address import address_parts
from neurothek.dashboards.widgets.html import SHEET
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.warehouse import all_models

_STEP = '<span class="nt-step">/</span>'


def trail_html(page: str, asked: Mapping[str, str], n_layers: Mapping[str, int]) -> str:
    """The steps that lead to a page as HTML; empty for pages that are not about one model that there is.

    Args:
        page: name of the page.
        asked: what its address asks for.
        n_layers: number of layers by model: a step leads to none that the warehouse lacks.
    """
    model, layer, neuron = address_parts(asked)
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
