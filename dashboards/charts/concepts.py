"""The charts of what people name in vectors: each a function from rows to a drawing, without state."""

import altair as alt
import polars as pl

from neurothek.catalog.tables.annotations import CONCEPT_CLASSES
from neurothek.dashboards.charts.axes import HEIGHT
from neurothek.dashboards.charts.models import Look

CLASS_COLOURS = {"semantic": "#4a86c2", "syntactic": "#c9a227", "names": "#b3589a", "stopwords-punctuation": "#8a8a8a"}
"""Read on white and on black, and told apart with any colour vision."""

_PLACES = {name: place for place, name in enumerate(CONCEPT_CLASSES)}

CONDITION_NAMES = {"value": "value vectors", "random": "random vectors", "ffn_update": "FFN updates"}


def concept_shares(rows: pl.DataFrame, number: str, look: Look) -> alt.LayerChart:
    """The share of tokens tied to a concept in each kind of vector: bars side by side, one per model, with intervals.

    Args:
        rows: rows of one annotator, with model, condition, annotator, the number and its ends, n_vectors, n_annotators.
        number: the column to draw.
        look: colours of the models.
    """
    named = rows.with_columns(pl.col("condition").replace_strict(CONDITION_NAMES).alias("vectors"))
    models = [model for model in look.colours if model in set(rows.get_column("model"))]
    base = alt.Chart(named).encode(
        alt.X("vectors:N", sort=list(CONDITION_NAMES.values()), title=None, axis=alt.Axis(labelAngle=0, ticks=False)),
        xOffset=alt.XOffset("model:N", sort=models),
    )
    bars = base.mark_bar().encode(
        alt.Y(f"{number}:Q", title="tokens of a concept", axis=alt.Axis(format="~%", tickCount=5)),
        look.colour(rows.get_column("model")),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("vectors:N"),
            alt.Tooltip("annotator:N", title="who judged"),
            alt.Tooltip(f"{number}:Q", format=".1%", title="tokens of a concept"),
            alt.Tooltip(f"{number}_low:Q", format=".1%", title="95% from"),
            alt.Tooltip(f"{number}_high:Q", format=".1%", title="to"),
            alt.Tooltip("n_vectors:Q", format=",", title="vectors"),
            alt.Tooltip("n_annotators:Q", title="annotators"),
        ],
    )
    intervals = base.mark_rule().encode(alt.Y(f"{number}_low:Q"), alt.Y2(f"{number}_high:Q"))
    chart: alt.LayerChart = (bars + intervals).properties(height=HEIGHT)
    return chart


def concepts_by_layer(rows: pl.DataFrame, tallest: float | None = None) -> alt.Chart:
    """The share of the highest tokens that is of a concept in each layer, stacked by class.

    Args:
        rows: rows with layer, class, token_share, concepts_per_vector, n_concepts, n_judgements.
        tallest: where the axis ends; None: with the rows' own tallest layer.
    """
    scale = alt.Scale() if tallest is None else alt.Scale(domain=[0, tallest])
    placed = rows.with_columns(pl.col("class").replace_strict(_PLACES).alias("place"))
    chart: alt.Chart = (
        alt.Chart(placed)
        .mark_bar()
        .encode(
            alt.X("layer:O", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            alt.Y("token_share:Q", title="tokens of a concept", axis=alt.Axis(format="~%", tickCount=5), scale=scale),
            alt.Color(
                "class:N",
                scale=alt.Scale(domain=list(CONCEPT_CLASSES), range=[CLASS_COLOURS[one] for one in CONCEPT_CLASSES]),
                legend=alt.Legend(title=None, orient="top", columns=2),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("layer:O"),
                alt.Tooltip("class:N"),
                alt.Tooltip("token_share:Q", format=".1%", title="tokens of a concept"),
                alt.Tooltip("concepts_per_vector:Q", format=".2f", title="concepts per vector"),
                alt.Tooltip("n_concepts:Q", format=",", title="concepts"),
                alt.Tooltip("n_judgements:Q", format=",", title="judgements"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart
