"""The papers' figures as files: what they are drawn from, and the folder that they go to."""

from pathlib import Path

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotMeasured
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.pictures import save_all
from neurothek.dashboards.colours import model_colours
from neurothek.dashboards.papers.din import ShortcutRows, shortcut_figures
from neurothek.dashboards.papers.figure import Figure
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.voita import paper_figures
from neurothek.dashboards.papers.voita_ngrams import minima_of
from neurothek.queries.compare.comparison import Comparison
from neurothek.queries.compare.kinds import positional_neurons
from neurothek.queries.names.models import choose_models
from neurothek.queries.names.unmeasured import corpus_words
from neurothek.queries.views.on_corpus import on_corpus


def material_of(connection: duckdb.DuckDBPyConnection, comparison: Comparison) -> Material:
    """What the figures of compared models are drawn from, in the colours that the whole warehouse gives them.

    They are of the corpus that the models were compared on.
    """
    everything = {model.name: model.built for model in choose_models(connection)}
    names = comparison.models.get_column("model").to_list()
    on = corpus_words(connection, names, comparison.corpus)
    with on_corpus(connection, names, comparison.corpus) as shown:
        positional = positional_neurons(shown, comparison.typology.models())
        by_minimum = minima_of(shown, names)
        shortcuts = ShortcutRows.of(shown, names, on)
    look = Look(model_colours(list(everything)), comparison.why_not())
    return Material(comparison, positional, by_minimum, look, shortcuts, everything)


def write_figures(material: Material, folder: Path) -> list[Figure]:
    """Write the figures that can be drawn, each as PNG and SVG.

    Returns:
        All figures in order, those of Voita et al. 2023 first; those that cannot be drawn say why.
    """
    figures: list[Figure] = [*paper_figures(material)]
    if material.shortcuts is not None:
        figures += shortcut_figures(material.shortcuts, material.look, corpus=material.comparison.corpus)
    charts = {figure.name: figure.chart for figure in figures if figure.chart is not None}
    if not charts:
        raise NotMeasured(
            "no figure can be drawn: none of these models was measured on text",
            f"measure one of them with `{command_line('ingest', 'MODEL')}`",
            jobs=[],
        )
    save_all(charts, folder)
    return figures
