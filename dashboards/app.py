"""The dashboard's entry: the navigation, the box and the trail, and between them the page."""

import streamlit as st

from neurothek.dashboards.addresses import FRONT
from neurothek.dashboards.shell.box import (
    draw_box,
    follow_box,
    layers_of_models,
    measured_jobs,
    pages,
    title_of,
    trail_html,
)
from neurothek.dashboards.widgets.address import keep_place

# What keeps the box at the right.
_NO_TRAIL = "<span></span>"

opened = st.navigation(pages(measured_jobs()), position="top")
_page = opened.url_path or FRONT
st.set_page_config(page_title=title_of(_page, st.query_params.to_dict()), layout="wide")
follow_box()
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="shell"):
    trail = st.empty()
    trail.html(_NO_TRAIL)
    draw_box()
opened.run()
keep_place()
# The address is whole when the page has run.
_parameters = st.query_params.to_dict()
st.set_page_config(page_title=title_of(_page, _parameters))
trail.html(trail_html(_page, _parameters, layers_of_models()) or _NO_TRAIL)
