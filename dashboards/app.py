"""The dashboard's entry: which pages there are, and nothing else."""

import streamlit as st

st.set_page_config(page_title="neurothek", layout="wide")
st.navigation(
    [
        st.Page("views/compare.py", title="Compare sizes", default=True),
        st.Page("views/search.py", title="Search", url_path="search"),
        st.Page("views/neuron.py", title="Neuron", url_path="neuron"),
        st.Page("views/layer.py", title="Layer", url_path="layer"),
        st.Page("views/sql.py", title="SQL", url_path="sql"),
    ],
    position="top",
).run()
