"""The dashboard's entry: the navigation, the box and the trail, and between them the page."""

import streamlit as st

from dashboards.addresses import FRONT
from dashboards.shell.box import draw_box, follow_box
from dashboards.shell.menu import measured_jobs, pages
from dashboards.shell.trail import trail_html
from dashboards.widgets.address import keep_place

# What keeps the box at the right.
_NO_TRAIL = "<span></span>"

st.set_page_config(page_title="neurothek", layout="wide")
opened = st.navigation(pages(measured_jobs()), position="top")
follow_box()
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="shell"):
    trail = st.empty()
    trail.html(_NO_TRAIL)
    draw_box()
opened.run()
keep_place()
# The address is whole when the page has run.
trail.html(trail_html(opened.url_path or FRONT, st.query_params.to_dict()) or _NO_TRAIL)
