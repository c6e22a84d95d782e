"""The figures of Voita et al. 2023 for the models of a warehouse: which models each shows, its caption, its chart."""

from collections.abc import Callable, Mapping

import polars as pl

from neurothek.dashboards.charts import coverage as paper_charts
from neurothek.dashboards.charts import layers as charts
from neurothek.dashboards.papers.figure import Drawn, Figure, NotDrawn, captioned, source
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.panels import depth_panels
from neurothek.dashboards.papers.voita_ngrams import (
    NAMES,
    new_longer_ngrams,
    new_tokens,
    ngram_detectors,
    token_detectors,
)
from neurothek.dashboards.papers.voita_positions import (
    during_training,
    norms_after,
    position_ranges,
    positional_neurons_by_layer,
    without_positions,
)
from neurothek.queries.views.thresholds import thresholds


def paper_figures(material: Material) -> list[Figure]:
    """Figures 1 to 4 and 8 to 16, in order; 5 and 6 are examples in words, 7 is the figure of a neuron."""
    figures = []
    for number, (slug, draw) in _FIGURES.items():
        drawn = draw(material)
        if isinstance(drawn, NotDrawn):
            figures.append(Figure(number, slug, None, drawn.reason))
        else:
            figures.append(Figure(number, slug, drawn))
    return figures


def _dead(material: Material) -> Drawn:
    models = material.measured(material.comparison.layers)
    rows = material.comparison.layers.filter(pl.col("model").is_in(models))
    if rows.is_empty():
        return NotDrawn(f"no activity was measured{material.there}")
    panels: list[tuple[charts.OfLayer, str]] = [("mean_frequency", "(b) activation frequency of the others")]
    if rows.get_column("dead_share").null_count() < rows.height:
        panels.insert(0, ("dead_share", "(a) dead neurons"))
    return captioned(
        depth_panels(rows, panels, material.look),
        "Dead neurons and activation frequency by layer",
        f"Dead: never active on {material.seen(models)}. Frequency: mean over the neurons that fired.",
        *material.look.caption(models),
        source("1"),
    )


def _coverage(n: int, number: str) -> Callable[[Material], Drawn]:
    def draw(material: Material) -> Drawn:
        coverage = material.kinds.coverage
        of_layers = coverage.filter((pl.col("region") == "layer") & (pl.col("n") == n))
        in_half = coverage.filter((pl.col("region") == "first half") & (pl.col("n") == n))
        layers = material.kinds.detectors.filter((pl.col("n") == n) & (pl.col("depth") <= 0.5))
        rows = of_layers.join(layers, on=["model", "layer"], how="semi")
        models = material.measured(rows)
        if not models:
            return NotDrawn(f"n-grams were not counted{material.there}")
        alive = dict(in_half.select("model", "n_alive").unique().iter_rows())
        panels = [(model, f"{alive[model]:,} alive neurons{material.mark(model)}") for model in models]
        reference = ", ".join(f"{one:,}" for one in sorted(set(rows.get_column("corpus_coverage"))))
        return captioned(
            paper_charts.coverage(rows, panels),
            f"Alive neurons of the first half by the number of {NAMES[n][1]} that cover them",
            f"Fewest {NAMES[n][1]} that hold 95% of a neuron's activations, on {material.seen(models)}; for all"
            f" positions it takes {reference}.",
            f"Too few: fewer than {thresholds('coverage_bins')['min_activations']:.0f} activations. {source(number)}",
            *material.not_comparable(models),
        )

    return draw


_FIGURES: Mapping[int, tuple[str, Callable[[Material], Drawn]]] = {
    1: ("dead-neurons", _dead),
    2: ("tokens-that-cover", _coverage(1, "2")),
    3: ("token-detectors", token_detectors),
    4: ("new-tokens", new_tokens),
    8: ("positional-neurons", positional_neurons_by_layer),
    9: ("position-ranges", position_ranges),
    10: ("without-positions", without_positions),
    11: ("during-training", during_training),
    12: ("bigrams-that-cover", _coverage(2, "12")),
    13: ("trigrams-that-cover", _coverage(3, "13")),
    14: ("ngram-detectors", ngram_detectors),
    15: ("new-ngrams", new_longer_ngrams),
    16: ("norms-after", norms_after),
}
