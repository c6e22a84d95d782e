"""The figures of Geva et al. 2022 for the models of a warehouse: concepts, candidates, norms, dominant neurons."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.tables.annotations import POOLED, RULES
from neurothek.dashboards.charts import concepts as concept_charts
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.charts.predictions.events import (
    against_random,
    candidate_scores,
    extreme_kinds,
    shares_of_dominant,
)
from neurothek.dashboards.papers.figure import (
    PANEL_HEIGHT,
    PANEL_WIDTH,
    Setting,
    Sketch,
    captioned,
    corpora_in,
    model_panels,
    models_in,
    not_comparable,
    number_in,
)
from neurothek.queries.papers import geva as paper
from neurothek.queries.papers.exhibit import Picture
from neurothek.queries.views.contents import thresholds


def judged(concepts: pl.DataFrame) -> pl.DataFrame:
    """Of each model the rows of all people together, or of the program's rules where no person judged it."""
    by_people = concepts.filter(annotator=POOLED)
    by_rules = concepts.filter(annotator=RULES).join(by_people, on="model", how="anti", maintain_order="left")
    chosen = pl.concat([by_people, by_rules]).select("model", "annotator").unique()
    return concepts.join(chosen, on=["model", "annotator"], how="semi", maintain_order="left")


def _concepts(concepts: pl.DataFrame, look: Look) -> Drawing:
    conditions = [name for name in concept_charts.CONDITION_NAMES if name in set(concepts.get_column("condition"))]
    heights = concepts.group_by("model", "condition", "layer").agg(pl.col("token_share").sum())
    # One axis for all, that random vectors are seen to be lower; where nobody named a concept it is empty, not missing.
    tallest = max(heights.get_column("token_share")) or 1.0
    panels = [
        _concept_panel(concepts.filter(model=model, condition=condition), model, condition, tallest)
        for model in models_in(concepts)
        for condition in conditions
    ]
    by_rules = models_in(concepts.filter(annotator=RULES))
    return captioned(
        alt.concat(*panels, columns=len(conditions)),
        "Top tokens that are tied to a concept, by layer and class",
        f"{number_in(concepts, 'n_judgements')} judgements for each layer and kind of vector. A token of two classes"
        " counts in both.",
        f"Judged only by the rules of a program, not by people: {', '.join(by_rules)}." if by_rules else "",
        *not_comparable(concepts, look),
        _source("Figure 2"),
    )


def _concept_panel(concepts: pl.DataFrame, model: str, condition: str, tallest: float) -> alt.Chart:
    panel: alt.Chart = concept_charts.concepts_by_layer(concepts, tallest).properties(
        width=PANEL_WIDTH if condition == "value" else PANEL_WIDTH * 2 // 3,
        height=PANEL_HEIGHT * 3 // 4,
        title=alt.TitleParams(f"{model}: {concept_charts.CONDITION_NAMES[condition]}", fontSize=12),
    )
    return panel


def _candidates(candidates: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        model_panels(candidates, candidate_scores),
        "Effect of ten sub-updates on the token at the top before their FFN",
        "Scores m (e . v): largest (solid), mean (dashed) and smallest (dotted) of ten, averaged over"
        f" {number_in(candidates, 'n_examples')} examples of {corpora_in(candidates)}.",
        "The paper finds a mean that is not negative until the last layers, where strongly negative minima appear.",
        *not_comparable(candidates, look),
        _source("Figure 3"),
    )


def _overlaps(overlaps: pl.DataFrame, look: Look) -> Drawing:
    n_value, n_random = (number_in(overlaps.filter(kind=kind), "n") for kind in ("value", "random"))
    return captioned(
        model_panels(overlaps, lambda of: against_random(of, "norm_overlap", title="overlap")),
        "Overlap of the 30 highest tokens with and without the final norm",
        "Intersection over union with and without the norm, mean over"
        f" {n_value} value vectors and {n_random} random ones a layer.",
        *not_comparable(overlaps, look),
        _source("Figure 4"),
    )


def _dominant(dominant: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        model_panels(
            shares_of_dominant(dominant), lambda rows: against_random(rows, "share", title="share of the update")
        ),
        "Share of an FFN's update held by its ten dominant neurons, and by ten random others",
        f"Contribution: |m| x value norm, mean over {number_in(dominant, 'n_examples')} examples of"
        f" {corpora_in(dominant)}; random ones over the first {number_in(dominant, 'n_random_examples')}.",
        f"Layers have {number_in(dominant, 'd_ffn')} neurons.",
        *not_comparable(dominant, look),
        _source("Figure 6"),
    )


def _extremes(extremes: pl.DataFrame, look: Look) -> Drawing:
    bounds = thresholds("extreme_updates")
    totals = extremes.group_by("model", maintain_order=True).agg(pl.col("n_extreme").sum())
    counted = ", ".join(f"{number:,} in {model}" for model, number in totals.iter_rows())
    return captioned(
        model_panels(extremes, extreme_kinds, height=PANEL_HEIGHT // 2),
        "Clusters of value vectors behind extreme updates",
        f"Extreme updates on {corpora_in(extremes)}: {counted}.",
        "Specific: top tokens at most as frequent as those of the model's average neuron. Early: at least"
        f" {bounds['least_early_share']:.0%} of the firings after at most {bounds['early_ids']:.0f} ids.",
        "The paper sorts clusters by reading them; these bounds are this project's.",
        *not_comparable(extremes, look),
        _source("Section 5.2"),
    )


def _source(place: str) -> str:
    return f"{place} of Geva et al. 2022, for these models."


def _not_judged(_: Setting) -> str:
    by_program, by_people = (command_line("annotate", option, "MODEL") for option in ("--auto", "--sample"))
    return f"no vectors were judged; a program's rules judge them with `{by_program}`, people with `{by_people}`"


def _no_norm(_: Setting) -> str:
    controls = command_line("ingest", "MODEL", "--job", "controls")
    return f"the final norm has not been compared, or there is none; compare it with `{controls}`"


def _no_events(setting: Setting) -> str:
    return setting.not_measured("events were not measured", "events")


SKETCHES: Mapping[Picture, Sketch] = {
    paper.CONCEPTS: Sketch(_concepts, _not_judged, of=judged),
    paper.CANDIDATES: Sketch(_candidates, _no_events),
    paper.FINAL_NORM: Sketch(_overlaps, _no_norm, of=lambda rows: rows.filter(pl.col("norm_overlap").is_not_null())),
    paper.DOMINANT: Sketch(_dominant, _no_events),
    paper.EXTREME_UPDATES: Sketch(_extremes, _no_events),
}
