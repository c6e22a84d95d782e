"""The dashboard's entry: the navigation, the tabs of the place, the trail and the box, and below them the page."""

import streamlit as st

from neurothek.dashboards.addresses import FRONT
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

_measured = measured_jobs()
opened = st.navigation(pages(_measured), position="top")
_page = opened.url_path or FRONT
_parameters = st.query_params.to_dict()
st.set_page_config(page_title=title_of(_page, _parameters), layout="wide")
follow_box()
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="shell"):
    trail = st.empty()
    trail.html(tabs_html(_page, _parameters, _measured) or _NO_TRAIL)
    if _page != FRONT:
        draw_box()
opened.run()
keep_place()
# The address is whole when the page has run.
_parameters = st.query_params.to_dict()
st.set_page_config(page_title=title_of(_page, _parameters))
_above = tabs_html(_page, _parameters, _measured) + trail_html(_page, _parameters, layers_of_models())
trail.html(f'<div class="nt-above">{_above}</div>' if _above else _NO_TRAIL)
