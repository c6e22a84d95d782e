"""The dashboard's entry: the navigation, the tabs of the place, the trail and the box, and below them the page."""

import streamlit as st

from neurothek.dashboards.addresses import FRONT
from neurothek.dashboards.session import backend
from neurothek.dashboards.shell.navigation import (
    layers_of_models,
    measured_jobs,
    pages,
    tabs_html,
    title_of,
    trail_html,
)
from neurothek.dashboards.widgets.address import keep_place
from neurothek.dashboards.widgets.box import draw_box, follow_box

# What keeps the box at the right.
_NO_TRAIL = "<span></span>"


def run() -> None:
    """The whole page, from top to bottom."""
    measured = measured_jobs()
    opened = st.navigation(pages(measured), position="top")
    page = opened.url_path or FRONT
    parameters = st.query_params.to_dict()
    st.set_page_config(page_title=title_of(page, parameters), layout="wide")
    follow_box()
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="shell"):
        trail = st.empty()
        trail.html(tabs_html(page, parameters, measured) or _NO_TRAIL)
        if page != FRONT:
            draw_box()
    opened.run()
    keep_place()
    # The address is whole when the page has run.
    parameters = st.query_params.to_dict()
    st.set_page_config(page_title=title_of(page, parameters))
    above = tabs_html(page, parameters, measured) + trail_html(page, parameters, layers_of_models())
    trail.html(f'<div class="nt-above">{above}</div>' if above else _NO_TRAIL)


# A page asks many times soon after each other: the file is opened once.
with backend().warehouse.lingering():
    run()
