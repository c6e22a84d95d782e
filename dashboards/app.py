"""The dashboard's entry: which pages there are, and nothing else."""

import streamlit as st

from dashboards.addresses import FRONT, SECTIONS, script_of

st.set_page_config(page_title="neurothek", layout="wide")
st.navigation(
    {
        "": [st.Page(script_of(FRONT), title="Compare", default=True)],
        **{
            section: [st.Page(script_of(name), title=title, url_path=name) for name, title in pages.items()]
            for section, pages in SECTIONS.items()
        },
    },
    position="top",
).run()
