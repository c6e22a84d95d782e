"""The figures of Voita et al. 2023 for the models of a warehouse: which models each shows, its caption, its chart."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from neurothek.catalog.variants import POST_NORM
from neurothek.dashboards.charts import coverage as paper_charts
from neurothek.dashboards.charts import layers as charts
from neurothek.dashboards.charts import positions as positions_charts
from neurothek.dashboards.papers.figure import Drawn, NotDrawn, captioned, depth_panels, source
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.voita_ngrams import (
    NAMES,
    new_longer_ngrams,
    new_tokens,
    ngram_detectors,
    token_detectors,
)
from neurothek.queries.papers import voita as paper
from neurothek.queries.papers.exhibit import Picture
from neurothek.queries.views.contents import thresholds


def positional_neurons_by_layer(material: Material) -> Drawn:
    """Figure 8: every positional neuron over its layer."""
    return _circles(
        material, material.measured(material.kinds.positions), "Positional neurons by layer", paper.POSITIONAL_NEURONS
    )


def without_positions(material: Material) -> Drawn:
    """Figure 10: the same beside a model without position embeddings."""
    variants, base = material.without_positions()
    if base is None:
        return NotDrawn("there is no variant 'no-position' with a plain model of its size")
    models = material.measured(material.kinds.positions, [base, *variants])
    return _circles(
        material, models, "Positional neurons with and without position embeddings", paper.WITHOUT_POSITIONS
    )


def during_training(material: Material) -> Drawn:
    """Figure 11: the same at early steps of training."""
    variants, base = material.early_checkpoints()
    if base is None:
        return NotDrawn("there is no early checkpoint (variant 'step N') with its trained model")
    models = material.measured(material.kinds.positions, [*variants, base])
    return _circles(material, models, "Positional neurons during training", paper.DURING_TRAINING)


def norms_after(material: Material) -> Drawn:
    """Figure 16: the same of models with norms after their blocks, as OPT-350m."""
    rows = material.comparison.models.filter(pl.col("variant") == POST_NORM)
    if rows.is_empty():
        return NotDrawn("there is no variant 'post-norm', a model with norms after its blocks")
    models = material.measured(material.kinds.positions, rows.get_column("model").to_list())
    return _circles(material, models, "Positional neurons of a model with norms after its blocks", paper.NORMS_AFTER)


def _circles(material: Material, models: Sequence[str], title: str, picture: Picture) -> Drawn:
    positions = material.kinds.positions
    if not models:
        return NotDrawn(f"positions were not measured{material.corpus_suffix}")
    sums = positions.group_by("model").agg(pl.col("n_positional").sum(), pl.col("n_positional").null_count().alias("?"))
    n_positional = {model: number for model, number, unknown in sums.iter_rows() if not unknown}
    decided = [model for model in models if model in n_positional]
    if not decided:
        return NotDrawn("the corpus has too few sequences of full length to tell which neurons are positional")
    left_out = [f"{model}: too few sequences of full length." for model in models if model not in n_positional]
    layers = dict(positions.group_by("model").agg(pl.col("layer").max() + 1).iter_rows())
    neurons = dict(positions.group_by("model").agg(pl.col("n_neurons").sum()).iter_rows())
    panels = [
        (model, f"{n_positional[model]:,} of {neurons[model]:,} neurons{material.mark(model)}") for model in decided
    ]
    drawn = positions.filter(pl.col("model").is_in(decided))
    sequences = ", ".join(f"{n:,}" for n in sorted(set(drawn.get_column("n_sequences"))))
    least = thresholds("neurons")["positional_information"]
    return captioned(
        positions_charts.positional(material.positional.filter(pl.col("model").is_in(decided)), panels, layers),
        title,
        f"Each circle is a neuron whose activity carries more than {least:g} nats about the position: full colour where"
        " the pattern is strong, pale where weak.",
        f"On {sequences} full-length sequences of {material.corpora(decided)}.",
        *left_out,
        *material.not_comparable(decided),
        source(picture),
    )


def position_ranges(material: Material) -> Drawn:
    """Figure 9: the positions that the neurons of one layer cover together."""
    models = material.measured(material.kinds.positions)
    positional = material.positional.filter(pl.col("model").is_in(models) & pl.col("counts").is_not_null())
    for kinds, strengths, words in _TEAMS:
        team = positional.filter(pl.col("position_kind").is_in(kinds) & pl.col("position_strength").is_in(strengths))
        if not team.is_empty():
            return _team(material, models, team, words)
    return NotDrawn("no neuron fires nearly always at some positions and hardly ever at others")


def _team(material: Material, models: Sequence[str], positional: pl.DataFrame, words: str) -> Drawn:
    """The layer with the largest team, of the smallest model that has one so large."""
    place = {model: number for number, model in enumerate(models)}
    teams = (
        positional.group_by("model", "layer").len().with_columns(pl.col("model").replace_strict(place).alias("place"))
    )
    model, layer = teams.sort(["len", "place", "layer"], descending=[True, False, False]).row(0)[:2]
    team = positional.filter((pl.col("model") == model) & (pl.col("layer") == layer))
    runs = positions_charts.covered_ranges(team)
    covered = {position for start, stop in runs.select("start", "stop").iter_rows() for position in range(start, stop)}
    n_positions = len(team.get_column("counts")[0])
    sorts = team.group_by("position_strength", "position_kind", maintain_order=True).len().rows()
    which = "these are " + ", ".join(f"{n} {strength} with {kind}" for strength, kind, n in sorts)
    return captioned(
        positions_charts.ranges(team),
        f"Positions that {words} neurons of one layer cover",
        f"Layer {layer} of {model} has the most: {team.height} neurons, which together cover"
        f" {len(covered) / n_positions:.0%} of the positions.",
        f"Covered: active in more than half of {team.get_column('n_sequences')[0]:,} full-length sequences of"
        f" {material.corpora([model])}.",
        "" if words == _TEAMS[0][2] else f"The paper draws strong oscillatory neurons; there are none here: {which}.",
        source(paper.POSITION_RANGES),
    )


_TEAMS: tuple[tuple[list[str], list[str], str], ...] = (
    (["oscillatory"], ["strong"], "strong oscillatory"),
    (["oscillatory", "both extremes"], ["strong"], "strong positional"),
    (["oscillatory"], ["strong", "weak"], "oscillatory"),
    (["oscillatory", "both extremes"], ["strong", "weak"], "positional"),
)
"""Whose ranges are drawn: the first kind that any layer has."""


def _dead(material: Material) -> Drawn:
    models = material.measured(material.comparison.layers)
    rows = material.comparison.layers.filter(pl.col("model").is_in(models))
    if rows.is_empty():
        return NotDrawn(f"no activity was measured{material.corpus_suffix}")
    # Without exact zeros none is dead, and a neuron is active where its gate is open, or its coefficient above 0.
    smooth = set(rows.filter(pl.col("dead_share").is_null()).get_column("model"))
    if smooth >= set(models):
        return captioned(
            depth_panels(rows, [("mean_frequency", "activation frequency")], material.look),
            "Activation frequency by layer",
            f"Share of {material.seen(models)} at which a neuron is active (its gate open, or its activation above 0),"
            " mean over the neurons that ever are. None is dead: no activation is exactly 0.",
            *material.look.caption(models),
            source(paper.DEAD_NEURONS),
        )
    panels: list[tuple[charts.OfLayer, str]] = [
        ("dead_share", "(a) dead neurons"),
        ("mean_frequency", "(b) activation frequency of the others"),
    ]
    return captioned(
        depth_panels(rows, panels, material.look),
        "Dead neurons and activation frequency by layer",
        f"Dead: never active on {material.seen(models)}. Frequency: mean over the neurons that fired.",
        *material.look.caption(models),
        source(paper.DEAD_NEURONS),
    )


def _coverage(n: int, picture: Picture) -> Callable[[Material], Drawn]:
    def draw(material: Material) -> Drawn:
        coverage = material.kinds.coverage
        of_layers = coverage.filter((pl.col("region") == "layer") & (pl.col("n") == n))
        in_half = coverage.filter((pl.col("region") == "first half") & (pl.col("n") == n))
        layers = material.kinds.detectors.filter((pl.col("n") == n) & (pl.col("depth") <= 0.5))
        rows = of_layers.join(layers, on=["model", "layer"], how="semi")
        models = material.measured(rows)
        if not models:
            return NotDrawn(f"n-grams were not counted{material.corpus_suffix}")
        alive = dict(in_half.select("model", "n_alive").unique().iter_rows())
        panels = [(model, f"{alive[model]:,} alive neurons{material.mark(model)}") for model in models]
        reference = ", ".join(f"{one:,}" for one in sorted(set(rows.get_column("corpus_coverage"))))
        return captioned(
            paper_charts.coverage(rows, panels),
            f"Alive neurons of the first half by the number of {NAMES[n][1]} that cover them",
            f"Fewest {NAMES[n][1]} that hold 95% of a neuron's activations, on {material.seen(models)}; for all"
            f" positions it takes {reference}.",
            f"Too few: fewer than {thresholds('coverage_bins')['min_activations']:.0f} activations. {source(picture)}",
            *material.not_comparable(models),
        )

    return draw


DRAWINGS: Mapping[Picture, Callable[[Material], Drawn]] = {
    paper.DEAD_NEURONS: _dead,
    paper.TOKENS_THAT_COVER: _coverage(1, paper.TOKENS_THAT_COVER),
    paper.TOKEN_DETECTORS: token_detectors,
    paper.NEW_TOKENS: new_tokens,
    paper.POSITIONAL_NEURONS: positional_neurons_by_layer,
    paper.POSITION_RANGES: position_ranges,
    paper.WITHOUT_POSITIONS: without_positions,
    paper.DURING_TRAINING: during_training,
    paper.BIGRAMS_THAT_COVER: _coverage(2, paper.BIGRAMS_THAT_COVER),
    paper.TRIGRAMS_THAT_COVER: _coverage(3, paper.TRIGRAMS_THAT_COVER),
    paper.NGRAM_DETECTORS: ngram_detectors,
    paper.NEW_NGRAMS: new_longer_ngrams,
    paper.NORMS_AFTER: norms_after,
}
"""Figures 1 to 4 and 8 to 16; 5 to 7 are galleries."""
