"""Walks to what a warehouse that is there already answers: tables, views, options, pages, charts, figures, checks."""

from neurothek.catalog.tables.versions import VERSION
from tests.support.walks import Walk

TABLE = Walk(
    title="Add a table",
    new={
        "catalog/tables/value_norms.py": f'''\
"""The table of how long value vectors are."""

from neurothek.catalog.tables.table import DOUBLE, LAYER, MODEL, NEURON, RUN, Column, Table

VALUE_NORMS = Table(
    "value_norms",
    "One row per neuron: how long its value vector is.",
    scope="model",
    key=("layer", "neuron"),
    columns={{
        "model_id": MODEL,
        "layer": LAYER,
        "neuron": NEURON,
        "norm": Column(DOUBLE, "Euclidean norm of the value vector."),
        "run_id": RUN,
    }},
    since={VERSION + 1},
)

JOB_TABLES = {{"value_norms": (VALUE_NORMS,)}}
''',
    },
    lines={"catalog/tables/versions.py": ((f"VERSION = {VERSION}\n", f"VERSION = {VERSION + 1}\n"),)},
)

VIEW = Walk(
    title="Add a view",
    new={
        "queries/views/vector_lengths.sql": """\
-- One row per model and layer: how long the value vectors of its neurons are.
-- Why: long vectors move the residual stream far, whatever they promote. From: neurons. Source: this project.
-- key: model, layer
-- columns:
--   model: Name of the model.
--   layer: Layer, from 0.
--   n_neurons: Neurons of the layer.
--   mean_norm: Mean Euclidean norm of their value vectors.
--   max_norm: The largest of the norms.
select
    model,
    layer,
    count(*) as n_neurons,
    avg(value_norm) as mean_norm,
    max(value_norm) as max_norm,
from neurons
group by model, layer
"""
    },
)

OPTION = Walk(
    title="Add a search option",
    lines={
        "queries/search/question.py": (
            (
                '"alive": "coalesce(not is_dead, effective_frequency > 0)"',
                '"alive": "coalesce(not is_dead, effective_frequency > 0)", "peaked": "kurtosis > 3"',
            ),
            ("    alive: bool = False\n", "    alive: bool = False\n    peaked: bool = False\n"),
            ("    alive: bool\n", "    alive: bool\n    peaked: bool\n"),
        ),
        "neurothek/cli/search.py": (
            (
                '@click.option("--alive", is_flag=True',
                '@click.option("--peaked", is_flag=True, help="Only neurons whose scores have a kurtosis above 3.")\n'
                '@click.option("--alive", is_flag=True',
            ),
        ),
        "dashboards/parts/search_fields.py": (
            (
                "_SWITCHES = (\n",
                '_SWITCHES = (\n    ("Only peaked neurons", "peaked", "Scores with a kurtosis above 3."),\n',
            ),
        ),
    },
)

PAGE = Walk(
    title="Add a page",
    new={
        "dashboards/screens/explore/tokens.py": '''\
"""The page of one token: which neurons promote it most."""

import duckdb
import streamlit as st

from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, remember
from neurothek.dashboards.widgets.page import answer, heading
from neurothek.queries.search.by_word import search
from neurothek.queries.search.question import Question


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Token")
    token = st.text_input("Token", address_value("token") or "", key="token")
    remember(token=token or None)
    if token:
        result = search(connection, Question(words=(token,)))
        tables.link_to_neurons(result.neurons, ("address", "z_sum"), key="found", height=420)


answer(show)
'''
    },
    lines={
        "dashboards/addresses.py": (
            ('        "layer": "Layer",\n', '        "tokens": "Token",\n        "layer": "Layer",\n'),
        ),
    },
)

CHART = Walk(
    title="Add a chart",
    lines={
        "dashboards/charts/spread.py": (
            (
                "\n\ndef sample(",
                '''

def quartiles(neurons: pl.DataFrame, number: Number, colour: str) -> alt.Chart:
    """A box for each layer: the middle half of its neurons, their median, and how far the others reach.

    Args:
        neurons: rows with layer and the number's column.
        number: what is drawn.
        colour: of the boxes.
    """
    chart: alt.Chart = (
        alt.Chart(neurons)
        .mark_boxplot(color=colour, extent="min-max")
        .encode(
            alt.X("layer:O", axis=alt.Axis(labelAngle=0)),
            alt.Y(f"{number.column}:Q", title=number.title, scale=number.scale, axis=number.axis),
        )
        .properties(height=HEIGHT)
    )
    return chart


def sample(''',
            ),
        ),
    },
)

FIGURE = Walk(
    title="Add a figure of a paper",
    lines={
        "queries/papers/geva.py": (
            ('DOMINANT = Picture("dominant")\n', 'DOMINANT = Picture("dominant")\nLENGTHS = Picture("lengths")\n'),
            (
                """\
    Exhibit(
        "Table 9, Table 10",
""",
                """\
    Exhibit(
        "Lengths",
        "How long the value vectors of each layer are.",
        (Sheet("vector_lengths", ("layer",)),),
        claims=(
            Claim(
                "ours",
                "Value vectors of the last layer are longer than those of the first.",
                "mean norm of the last layer above that of the first, in every size (no interval)",
                vectors.lengthen,
                ("projections",),
            ),
        ),
        pictures=(LENGTHS,),
    ),
    Exhibit(
        "Table 9, Table 10",
""",
            ),
        ),
        "queries/papers/geva_vectors.py": (
            (
                "def dominate(",
                '''\
def lengthen(family: Family) -> Finding:
    """Mean norms of the last layer beside those of the first."""
    rows = family.view("vector_lengths", ("model", "mean_norm"), ("layer",))
    norms = {model: rows.filter(model=model).get_column("mean_norm").to_list() for model in family.sizes}
    holds = all(of[-1] > of[0] for of in norms.values())
    numbers = family.side_by_side({model: f"{of[0]:.3f} to {of[-1]:.3f}" for model, of in norms.items()})
    return Finding("holds" if holds else "does not hold", numbers)


def dominate(''',
            ),
        ),
        "dashboards/papers/geva.py": (
            (
                "def _source(",
                """\
def _lengths(lengths: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        model_panels(lengths, lambda of: alt.Chart(of).mark_line().encode(alt.X("layer:O"), alt.Y("mean_norm:Q"))),
        "How long value vectors are",
        *not_comparable(lengths, look),
    )


def _source(""",
            ),
            (
                "    paper.DOMINANT:",
                """\
    paper.LENGTHS: Sketch(_lengths, lambda setting: setting.not_measured("there are no vectors", "projections")),
    paper.DOMINANT:""",
            ),
        ),
    },
)

CHECK = Walk(
    title="Add a check",
    new={
        "catalog/upkeep/checks/models_are_their_layers.sql": """\
-- A model has as many neurons as its layers have together.
select 'model ' || name as place
from store.models
where n_neurons <> n_layers * d_ffn
"""
    },
)

ASKED = (TABLE, VIEW, OPTION, PAGE, CHART, FIGURE, CHECK)
