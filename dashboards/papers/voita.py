"""The figures of Voita et al. 2023 for the models of a warehouse: which models each shows, its caption, its chart."""

from collections.abc import Callable, Mapping, Sequence

import altair as alt
import polars as pl

from dashboards.charts import coverage as paper_charts
from dashboards.charts import layers as charts
from dashboards.charts.models import Look
from dashboards.papers.figure import Drawn, Figure, NotDrawn, captioned, source
from dashboards.papers.material import Material
from dashboards.papers.voita_positions import (
    during_training,
    position_ranges,
    positional_neurons_by_layer,
    without_positions,
)
from queries.views.thresholds import thresholds

_PAGE_WIDTH, _PANEL_HEIGHT = 300, 240
_NAMES = {1: ("token", "tokens"), 2: ("bigram", "bigrams"), 3: ("trigram", "trigrams")}


def paper_figures(material: Material) -> list[Figure]:
    """Figures 1 to 4 and 8 to 15, in order; 5 and 6 are examples in words, 7 is the figure of a neuron."""
    figures = []
    for number, (slug, draw) in _FIGURES.items():
        drawn = draw(material)
        if isinstance(drawn, NotDrawn):
            figures.append(Figure(number, slug, None, drawn.reason))
        else:
            figures.append(Figure(number, slug, drawn))
    return figures


def _side_by_side(rows: pl.DataFrame, numbers: Sequence[tuple[charts.OfLayer, str]], look: Look) -> alt.HConcatChart:
    panels = [
        charts.by_depth(rows, number, look, orient="right").properties(
            width=_PAGE_WIDTH, height=_PANEL_HEIGHT, title=alt.TitleParams(title, fontSize=12)
        )
        for number, title in numbers
    ]
    whole: alt.HConcatChart = alt.hconcat(*panels).resolve_scale(color="shared")
    return whole


def _dead(material: Material) -> Drawn:
    models = material.measured(material.comparison.layers)
    rows = material.comparison.layers.filter(pl.col("model").is_in(models))
    if rows.is_empty():
        return NotDrawn(f"no activity was measured{material.there}")
    panels: list[tuple[charts.OfLayer, str]] = [("mean_frequency", "(b) activation frequency of the others")]
    if rows.get_column("dead_share").null_count() < rows.height:
        panels.insert(0, ("dead_share", "(a) dead neurons"))
    return captioned(
        _side_by_side(rows, panels, material.look),
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
            f"Alive neurons of the first half by the number of {_NAMES[n][1]} that cover them",
            f"Fewest {_NAMES[n][1]} that hold 95% of a neuron's activations, on {material.seen(models)}; for all"
            f" positions it takes {reference}.",
            f"Too few: fewer than {thresholds('coverage_bins')['min_activations']:.0f} activations. {source(number)}",
            *material.not_comparable(models),
        )

    return draw


def _labelled(material: Material, n: int) -> tuple[int, str]:
    """The length to draw: `n` where some model can be labelled, else the next shorter one, and then why."""
    detectors = material.kinds.detectors
    for length in range(n, 1, -1):
        if "labelled" in set(detectors.filter(pl.col("n") == length).get_column("status")):
            word = _NAMES[length][1].capitalize()
            why = f"{word}, because {_NAMES[n][1]} cannot be labelled: too few positions carry frequent ones."
            return length, "" if length == n else why
    return 1, "Tokens, because longer n-grams cannot be labelled: too few positions carry frequent ones."


def _detectors(n: int, number: str) -> Callable[[Material], Drawn]:
    def draw(material: Material) -> Drawn:
        length, instead = (1, "") if n == 1 else _labelled(material, n)
        one, many = _NAMES[length]
        detectors = material.kinds.detectors.filter(pl.col("n") == length)
        detected = material.kinds.detected.filter(pl.col("n") == length)
        models = material.measured(detectors)
        if not models:
            return NotDrawn(f"n-grams were not counted{material.there}")
        rows = detected.join(detectors.select("model", "layer", "n_detectors", "n_neurons"), on=["model", "layer"])
        totals = detectors.group_by("model").agg(pl.col("n_detectors").sum())
        counted = {model: number for model, number in totals.iter_rows() if model in models}
        panels: list[tuple[charts.OfLayer, str]] = [
            ("n_detectors", f"(a) neurons that detect {many}"),
            ("n_detected", f"(b) {many} that have a detector, by layer"),
            ("n_cumulative", "and in all layers so far"),
        ]
        return captioned(
            _side_by_side(rows.filter(pl.col("model").is_in(models)), panels, material.look),
            f"{one.capitalize()} detectors by layer",
            instead,
            "Detectors: " + ", ".join(f"{counted[model] or 0:,} in {model}" for model in models) + ".",
            f"On {material.seen(models)}. {_rule(length)}",
            *material.look.caption(models),
            source(number),
        )

    return draw


def _new(n: int, number: str) -> Callable[[Material], Drawn]:
    def draw(material: Material) -> Drawn:
        length, instead = (1, "") if n == 1 else _labelled(material, n)
        detected = material.kinds.detected.filter((pl.col("n") == length) & pl.col("n_detected").is_not_null())
        models = material.measured(detected)
        if not models:
            return NotDrawn(f"n-grams were not counted{material.there}")
        most = dict(detected.group_by("model").agg(pl.col("n_cumulative").max()).iter_rows())
        panels = [
            (
                model,
                f"{f'{most[model]:,} in all layers' if most[model] else 'none in any layer'}{material.mark(model)}",
            )
            for model in models
        ]
        return captioned(
            paper_charts.new_ngrams(detected.filter(pl.col("model").is_in(models)), panels),
            f"{_NAMES[length][1].capitalize()} detected in each layer, and how many of them are new there",
            instead,
            f"On {material.seen(models)}. {_rule(length)}",
            *material.not_comparable(models),
            source(number),
        )

    return draw


_FIGURES: Mapping[int, tuple[str, Callable[[Material], Drawn]]] = {
    1: ("dead-neurons", _dead),
    2: ("tokens-that-cover", _coverage(1, "2")),
    3: ("token-detectors", _detectors(1, "3")),
    4: ("new-tokens", _new(1, "4")),
    8: ("positional-neurons", positional_neurons_by_layer),
    9: ("position-ranges", position_ranges),
    10: ("without-positions", without_positions),
    11: ("during-training", during_training),
    12: ("bigrams-that-cover", _coverage(2, "12")),
    13: ("trigrams-that-cover", _coverage(3, "13")),
    14: ("ngram-detectors", _detectors(3, "14")),
    15: ("new-ngrams", _new(3, "15")),
}


def _rule(n: int) -> str:
    of = thresholds("detected_ngrams")
    most = of["most_tokens"] if n == 1 else of["most_ngrams"]
    return f"A detector responds to at most {most:.0f} {_NAMES[n][1]}, each {of['least_recall']:.0%} of the time."
