"""The dashboard's entry: which pages there are, and nothing else."""

import streamlit as st

from dashboards.addresses import PAGES

st.set_page_config(page_title="neurothek", layout="wide")
st.navigation(
    [
        st.Page("screens/compare.py", title="Compare sizes", default=True),
        *(st.Page(f"screens/{name}.py", title=title, url_path=name) for name, title in PAGES.items()),
    ],
    position="top",
).run()
