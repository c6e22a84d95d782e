"""Figures 3, 4, 14 and 15 of Voita et al. 2023: neurons that detect n-grams, and which n-grams are new in a layer."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from neurothek.dashboards.charts import coverage as charts
from neurothek.dashboards.charts.layers import OfLayer
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.papers.figure import Drawn, NotDrawn, captioned, depth_panels, source
from neurothek.dashboards.papers.material import Material
from neurothek.queries.papers import voita as paper
from neurothek.queries.papers.exhibit import Picture
from neurothek.queries.views.contents import thresholds

NAMES = {1: ("token", "tokens"), 2: ("bigram", "bigrams"), 3: ("trigram", "trigrams")}

_LONGER = (2, 3)


def token_detectors(material: Material) -> Drawn:
    """Figure 3: detectors of tokens by layer, and the tokens that they detect."""
    models = material.measured(material.kinds.detectors)
    if not models:
        return NotDrawn(f"n-grams were not counted{material.corpus_suffix}")
    return captioned(
        _by_layer(material, 1),
        "Token detectors by layer",
        _counted(material, 1),
        f"On {material.seen(models)}. {_rule(1, 'tokens')}",
        *material.look.caption(models),
        source(paper.TOKEN_DETECTORS),
    )


def ngram_detectors(material: Material) -> Drawn:
    """Figure 14: detectors of bigrams and trigrams by the occurrences that are asked for; labelled ones as figure 3."""
    models = material.measured(material.by_minimum, material.all_models())
    if not models:
        return NotDrawn(f"n-grams were not counted{material.corpus_suffix}")
    longest = _longest_labelled(material)
    counted = [chart for n in _LONGER if (chart := _by_minimum(material, n, models)) is not None]
    # Occurrences have one legend for both lengths, models another.
    parts: list[Drawing] = [] if longest is None else [_by_layer(material, longest)]
    parts += [alt.vconcat(*counted).resolve_scale(color="shared")] if counted else []
    if not parts:
        return NotDrawn(_none_at_all(material, models))
    signs = " or ".join(sign for sign, is_there in (("dashed", longest), ("*", counted)) if is_there)
    texts = material.look.not_comparable(models)
    whole: alt.VConcatChart = alt.vconcat(*parts).resolve_scale(color="independent")
    return captioned(
        whole,
        "Bigram and trigram detectors by layer and by the minimum number of occurrences",
        "" if longest is None else _counted(material, longest),
        *(_frequent(material, n, models) for n in _LONGER),
        _withheld(material, models),
        f"On {material.seen(models)}. {_rule(2, 'bigrams or trigrams')}",
        f"Below {_enough()} occurrences a count is a lower bound.",
        f"Not comparable ({signs}): {texts}." if texts else "",
        source(paper.NGRAM_DETECTORS),
    )


def new_tokens(material: Material) -> Drawn:
    """Figure 4: the tokens that each layer detects, and how many of them are new there."""
    return _new(material, 1, paper.NEW_TOKENS)


def new_longer_ngrams(material: Material) -> Drawn:
    """Figure 15: the same of trigrams, or of bigrams where these alone can be labelled."""
    longest = _longest_labelled(material)
    if longest is None and material.measured(material.by_minimum, material.all_models()):
        bigrams, trigrams = (_carried(material, n, _enough()) for n in _LONGER)
        return NotDrawn(
            f"bigrams and trigrams cannot be labelled{material.corpus_suffix}: bigrams that occur {_enough()} times"
            f" hold {bigrams} of the positions and such trigrams {trigrams}, and it takes {_least_share():.0%}"
        )
    return _new(material, longest or max(_LONGER), paper.NEW_NGRAMS)


def _by_layer(material: Material, n: int) -> alt.HConcatChart:
    """Detectors of one length, and the n-grams that they detect, a line per model."""
    detectors = material.kinds.detectors.filter((pl.col("n") == n) & (pl.col("status") == "labelled"))
    detected = material.kinds.detected.filter(pl.col("n") == n)
    rows = detected.join(detectors.select("model", "layer", "n_detectors", "n_neurons"), on=["model", "layer"])
    many = NAMES[n][1]
    panels: list[tuple[OfLayer, str]] = [
        ("n_detectors", f"(a) neurons that detect {many}"),
        ("n_detected", f"(b) {many} that have a detector, by layer"),
        ("n_cumulative", "and in all layers so far"),
    ]
    return depth_panels(rows.filter(pl.col("model").is_in(material.measured(detectors))), panels, material.look)


def _by_minimum(material: Material, n: int, models: Sequence[str]) -> alt.ConcatChart | None:
    """How many neurons detect n-grams that occur so often, a panel per model that has any; None: none has."""
    rows = _of_length(material, n)
    totals = _totals(rows)
    panels = [(model, f"{_listed(totals[model])} in all layers{material.mark(model)}") for model in models]
    with_detectors = [(model, under) for model, under in panels if max(totals[model])]
    if not with_detectors:
        return None
    title = alt.TitleParams(f"neurons that detect {NAMES[n][1]}, by occurrences", fontSize=12)
    rows_of_panels = rows.filter(pl.col("model").is_in([model for model, _ in with_detectors]))
    chart: alt.ConcatChart = charts.detectors_by_minimum(rows_of_panels, with_detectors).properties(title=title)
    return chart


def _frequent(material: Material, n: int, models: Sequence[str]) -> str:
    """Which share of the positions n-grams that occur so often hold, and which models have no detector of any."""
    rows = _of_length(material, n)
    shares: dict[tuple[float, ...], list[str]] = {}
    for model in models:
        of_model = rows.filter(model=model).sort("least_occurrences").unique("least_occurrences", maintain_order=True)
        shares.setdefault(tuple(of_model.get_column("frequent_share")), []).append(model)
    texts = [
        ", ".join(f"{share:.1%}" for share in shares_of_minima) + (f" ({', '.join(alike)})" if len(shares) > 1 else "")
        for shares_of_minima, alike in shares.items()
    ]
    minima = _listed(sorted(set(rows.get_column("least_occurrences"))))
    without = [model for model, totals in _totals(rows).items() if not max(totals)]
    none = f" No detector of any: {', '.join(model for model in models if model in without)}." if without else ""
    return f"{NAMES[n][1].capitalize()} that occur {minima} times hold {'; '.join(texts)} of the positions.{none}"


def _withheld(material: Material, models: Sequence[str]) -> str:
    """Of which lengths and models no labels are given elsewhere, and why."""
    detectors = material.kinds.detectors
    lacking = {
        NAMES[n][1]: [model for model in models if model in set(rows.get_column("model"))]
        for n in _LONGER
        if not (rows := detectors.filter((pl.col("n") == n) & (pl.col("status") != "labelled"))).is_empty()
    }
    if not lacking:
        return ""
    texts = [many if len(of) == len(models) else f"{many} (in {', '.join(of)})" for many, of in lacking.items()]
    return (
        f"Under half of the positions carry {' or '.join(texts)} that occur {_enough()} times: these are counted here"
        " and labelled nowhere else."
    )


def _none_at_all(material: Material, models: Sequence[str]) -> str:
    least = min(material.by_minimum.get_column("least_occurrences"))
    held = " and such trigrams ".join(_carried(material, n, least) for n in _LONGER)
    return (
        f"no neuron of these models detects bigrams or trigrams on {material.corpora(models)}, not even ones that occur"
        f" {least} times; such bigrams hold {held} of the positions"
    )


def _new(material: Material, n: int, picture: Picture) -> Drawn:
    detected = material.kinds.detected.filter((pl.col("n") == n) & pl.col("n_detected").is_not_null())
    models = material.measured(detected)
    if not models:
        return NotDrawn(f"n-grams were not counted{material.corpus_suffix}")
    most = dict(detected.group_by("model").agg(pl.col("n_cumulative").max()).iter_rows())
    panels = [
        (model, f"{f'{most[model]:,} in all layers' if most[model] else 'none in any layer'}{material.mark(model)}")
        for model in models
    ]
    return captioned(
        charts.new_ngrams(detected.filter(pl.col("model").is_in(models)), panels),
        f"{NAMES[n][1].capitalize()} detected in each layer, and how many of them are new there",
        "Bigrams, because trigrams cannot be labelled: too few positions carry frequent ones." if n == 2 else "",
        f"On {material.seen(models)}. {_rule(n, NAMES[n][1])}",
        *material.not_comparable(models),
        source(picture),
    )


def _longest_labelled(material: Material) -> int | None:
    """The longest n-grams that can be labelled for some model; None: tokens alone can."""
    labelled = material.kinds.detectors.filter((pl.col("status") == "labelled") & pl.col("n").is_in(_LONGER))
    return max(labelled.get_column("n"), default=None)


def _of_length(material: Material, n: int) -> pl.DataFrame:
    return material.by_minimum.filter(pl.col("n") == n)


def _totals(rows: pl.DataFrame) -> dict[str, list[int]]:
    """Detectors of each model in all layers, by ascending least occurrences."""
    summed = rows.group_by("model", "least_occurrences").agg(pl.col("n_detectors").sum()).sort("least_occurrences")
    return {model: of.get_column("n_detectors").to_list() for (model,), of in summed.group_by("model")}


def _carried(material: Material, n: int, least: int) -> str:
    """The share of positions that n-grams which occur so often hold, or from which to which share models have it."""
    shares = sorted(set(_of_length(material, n).filter(least_occurrences=least).get_column("frequent_share")))
    return f"{shares[0]:.1%}" if len(shares) == 1 else f"{shares[0]:.1%} to {shares[-1]:.1%}"


def _counted(material: Material, n: int) -> str:
    labelled = material.kinds.detectors.filter((pl.col("n") == n) & (pl.col("status") == "labelled"))
    totals = dict(labelled.group_by("model").agg(pl.col("n_detectors").sum()).iter_rows())
    counted = ", ".join(f"{totals[model]:,} in {model}" for model in material.measured(labelled))
    return f"{'Detectors' if n == 1 else f'Labelled detectors of {NAMES[n][1]}'}: {counted}."


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


def _enough() -> int:
    """Occurrences that an n-gram needs to be labelled."""
    return int(thresholds("corpus_ngrams")["min_occurrences"])


def _least_share() -> float:
    """The share of the positions that must carry n-grams that occur so often."""
    return thresholds("corpus_ngrams")["least_frequent_share"]


def _rule(n: int, many: str) -> str:
    of = thresholds("detected_ngrams")
    most = of["most_tokens"] if n == 1 else of["most_ngrams"]
    return f"A detector responds to at most {most:.0f} {many}, each {of['least_recall']:.0%} of the time."
