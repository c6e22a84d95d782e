"""How neurons spread over the numbers of the view `neurons`: one number's distribution, two against each other."""

from collections.abc import Sequence

import polars as pl
import streamlit as st

from neurothek.dashboards.charts import axes, spread
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.widgets.figures import Data, show_figure
from neurothek.dashboards.widgets.page import Theme
from neurothek.queries.views.install import view

# Numbers that spread over powers of ten.
LOGARITHMIC = frozenset({"frequency", "effective_frequency", "contribution_max", "first_active"})

# Columns of the view neurons that can be drawn.
NUMBERS = (
    "frequency",
    "effective_frequency",
    "contribution_max",
    "kurtosis",
    "skewness",
    "value_norm",
    "score_sd",
    "score_mean",
    "score_negative_share",
    "mean_activation",
    "activation_max",
    "first_active",
    "preactivation_bound",
    "top_token_log_frequency",
)


def known_numbers(neurons: pl.DataFrame, numbers: Sequence[str]) -> list[str]:
    """Those of the numbers that any of the neurons has; how often a gate is open stands last."""
    present = (name for name in numbers if name in neurons.columns)
    columns = [name for name in present if neurons.get_column(name).null_count() < neurons.height]
    lacks_zeros = "is_dead" in neurons.columns and neurons.get_column("is_dead").is_null().all()
    return sorted(columns, key=lambda name: lacks_zeros and name == "frequency")


def pick_distribution(data: Data, columns: Sequence[str], part: str = "") -> None:
    """Draw how the neurons spread over a number that the person picks.

    Args:
        data: neurons with the numbers.
        columns: the numbers to pick from.
        part: what to say where these are not all neurons.
    """
    number = _number(st.selectbox("Distribution of", columns, format_func=axes.spoken, key="number"))
    values = data.frame.get_column(number.column)
    bins = spread.binned(values, is_log=number.is_log)
    n_silent, word = silent(data.frame.filter(pl.col(number.column).fill_null(0) <= 0))
    has_bar = number.is_log and n_silent > 0 and not bins.is_empty()
    left_out = values.len() - int(bins.get_column("n_neurons").sum()) - (n_silent if has_bar else 0)
    aside = f" Left out because they lack this number: {left_out:,}." if left_out else ""
    aside += f" At the left: {n_silent:,} {word} neurons." if has_bar else ""

    def draw(theme: Theme) -> Drawing:
        if not has_bar:
            return spread.histogram(bins, number, ACCENT[theme])
        return spread.with_bar_apart(bins, number, (ACCENT[theme], CONTRAST[theme]), n=n_silent, word=word)

    caption = f"{view('neurons').columns[number.column]}{part}{aside}"
    show_figure(f"Neurons by {number.title}", draw, caption, data, source="Source: this project.", own_legend=True)


def silent(neurons: pl.DataFrame) -> tuple[int, str]:
    """How many of the neurons never fired, and how they are called.

    Args:
        neurons: rows with never_active and is_dead, and with pole, which gated models' neurons have, if it is known.
    """
    if neurons.get_column("is_dead").is_not_null().any():
        return int(neurons.get_column("is_dead").fill_null(False).sum()), "dead"
    # A gate that never opens lets a little through all the same.
    is_gated = "pole" in neurons.columns and neurons.get_column("pole").is_not_null().any()
    n_silent = int(neurons.get_column("never_active").fill_null(False).sum())
    return n_silent, "never open" if is_gated else "never active"


def pick_scatter(data: Data, columns: Sequence[str]) -> pl.DataFrame:
    """Draw two numbers that the person picks; the neurons within the rectangle that the person drew, or all.

    Args:
        data: neurons with the numbers.
        columns: the numbers to pick from.
    """
    neurons = data.frame
    left, right = st.columns(2)
    x = _number(left.selectbox("Horizontal axis", columns, format_func=axes.spoken, key="across"))
    usual = columns.index(usual_up(neurons, columns))
    y = _number(right.selectbox("Vertical axis", columns, index=usual, format_func=axes.spoken, key="up"))
    usable = neurons.filter(_drawable(x), _drawable(y))
    drawn = spread.sample(usable.select("address", *dict.fromkeys((x.column, y.column))))
    part = "" if drawn.height == usable.height else f" {drawn.height:,} of {usable.height:,} neurons, drawn at random."
    selected = show_figure(
        f"{y.title.capitalize()} against {x.title}",
        lambda theme: spread.scatter(drawn, x, y, ACCENT[theme]),
        f"Each point is a neuron; drag a rectangle to list those inside it.{part}",
        data.showing(f"{y.column}_against_{x.column}", drawn),
        source="Source: this project.",
        own_legend=True,
        selects=True,
    )
    rectangle = selected.get("chosen") or {}
    return within(usable, rectangle) if rectangle else neurons


def usual_up(neurons: pl.DataFrame, columns: Sequence[str]) -> str:
    """What stands on the vertical axis at first: not how sparse neurons are over how often they fire, nearly the same.

    Args:
        neurons: rows with is_dead, which those without exact zeros lack.
        columns: the numbers to pick from; at least one.
    """
    has_zeros = "is_dead" in neurons.columns and neurons.get_column("is_dead").is_not_null().any()
    if has_zeros and "kurtosis" in columns:
        return "kurtosis"
    return columns[min(1, len(columns) - 1)]


def within(neurons: pl.DataFrame, rectangle: dict[str, list[float]]) -> pl.DataFrame:
    """The neurons whose numbers lie within the edges of a rectangle: column -> [lowest, highest]."""
    edges_of = {column: edges for column, edges in rectangle.items() if column in neurons.columns and len(edges) == 2}
    inside = (pl.col(column).is_between(min(edges), max(edges)) for column, edges in edges_of.items())
    return neurons.filter(*inside) if edges_of else neurons


def _number(column: str) -> spread.Number:
    return spread.Number(column, column in LOGARITHMIC)


def _drawable(number: spread.Number) -> pl.Expr:
    return pl.col(number.column) > 0 if number.is_log else pl.col(number.column).is_not_null()
