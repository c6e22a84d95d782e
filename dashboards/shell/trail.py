"""Where a page stands: its model, its layer, its neuron, each a way up."""

from collections.abc import Mapping

from dashboards.addresses import PAGES
from dashboards.widgets.address import address_parts
from dashboards.widgets.html import SHEET
from dashboards.widgets.links import link_html

_STEP = '<span class="nt-step">/</span>'


def trail_html(page: str, asked: Mapping[str, str]) -> str:
    """The steps that lead to a page as HTML; empty for pages that are not about one model.

    Args:
        page: name of the page.
        asked: what its address asks for.
    """
    model, layer, neuron = address_parts(asked)
    if model is None:
        return ""
    steps = [link_html("Compare", "compare"), link_html(model, "model", model=model)]
    if page not in ("model", "layer", "neuron"):
        steps.append(f"<span>{PAGES.get(page, '')}</span>")
    if page in ("layer", "neuron") and layer is not None:
        steps.append(link_html(f"layer {layer}", "layer", model=model, layer=layer))
    if page == "neuron" and neuron is not None:
        steps.append(f"<span>neuron {neuron}</span>")
    return f'{SHEET}<nav class="nt-trail">{_STEP.join(steps)}</nav>'
