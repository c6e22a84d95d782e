"""The figures of Voita et al. 2023 for the models of a warehouse: which models each shows, its caption, its chart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from dashboards import charts, paper_charts
from dashboards.looks import Look
from dashboards.pictures import Drawing
from dashboards.shortcut_paper import ShortcutRows
from queries.compare.comparison import Comparison
from queries.compare.kinds import Typology
from queries.views.thresholds import thresholds

_PAGE_WIDTH, _PANEL_HEIGHT = 300, 240
_NAMES = {1: ("token", "tokens"), 2: ("bigram", "bigrams"), 3: ("trigram", "trigrams")}


@dataclass(frozen=True)
class Material:
    """What the figures are drawn from.

    Attributes:
        comparison: the models side by side.
        positional: every positional neuron, as `queries.compare.kinds.positional_neurons` gives them.
        look: colours and dashes of the models.
        shortcuts: what linear shortcuts say of them; None: not asked.
    """

    comparison: Comparison
    positional: pl.DataFrame
    look: Look
    shortcuts: ShortcutRows | None = None

    @property
    def kinds(self) -> Typology:
        """The kinds of neurons."""
        return self.comparison.typology

    @property
    def there(self) -> str:
        """Where something was not measured: on the corpus that was asked for, or anywhere."""
        return "" if self.comparison.corpus is None else f" on {self.comparison.corpus}"

    def sizes(self) -> list[str]:
        """The models that differ in size or seed, smallest first; all, where fewer than two do."""
        rows = self.comparison.models.select("model", "variant").to_dicts()
        plain = [row["model"] for row in rows if row["variant"] is None or row["variant"].startswith("seed")]
        return plain if len(plain) > 1 else [row["model"] for row in rows]

    def measured(self, rows: pl.DataFrame, models: Sequence[str] | None = None) -> list[str]:
        """Those of the models, the sizes unless given, that `rows` tells of."""
        known = set(rows.get_column("model"))
        return [model for model in (self.sizes() if models is None else models) if model in known]

    def seen(self, models: Sequence[str]) -> str:
        """On how much text of which corpus the models were watched, in words."""
        known = dict(self.comparison.models.select("model", "n_tokens_seen").iter_rows())
        texts: dict[str, list[str]] = {}
        for model in models:
            n_tokens = "the text" if known[model] is None else f"{known[model]:,} tokens"
            texts.setdefault(f"{n_tokens} of {self.corpora([model])}", []).append(model)
        if len(texts) == 1:
            return next(iter(texts))
        return "; ".join(f"{', '.join(own)}: {text}" for text, own in texts.items())

    def corpora(self, models: Sequence[str]) -> str:
        """Names of the corpora that the models were measured on."""
        tables = (self.comparison.layers, self.kinds.detectors, self.kinds.positions)
        found = pl.concat(table.select("model", "corpus") for table in tables)
        own = found.filter(pl.col("model").is_in(list(models))).get_column("corpus")
        return ", ".join(own.unique(maintain_order=True))

    def variants(self, of: Callable[[str], bool]) -> tuple[list[str], str | None]:
        """The variants of a kind and the plain model of their family and size; of several families the first."""
        rows = self.comparison.models.select("model", "variant", "family", "size").to_dicts()
        for row in rows:
            if row["variant"] is None:
                alike = [other for other in rows if (other["family"], other["size"]) == (row["family"], row["size"])]
                found = [other["model"] for other in alike if other["variant"] is not None and of(other["variant"])]
                if found:
                    return sorted(found, key=lambda name: _step(alike, name)), row["model"]
        return [], None


@dataclass(frozen=True)
class Figure:
    """One figure, drawn or not.

    Attributes:
        number: its number in the paper.
        slug: what it shows, for the name of its file.
        chart: the drawing; None where there is nothing to draw.
        why_not: why there is none; empty where there is one.
    """

    number: int
    slug: str
    chart: Drawing | None
    why_not: str = ""

    @property
    def name(self) -> str:
        """Name of its file, without the ending."""
        return f"figure-{self.number:02d}-{self.slug}"

    @property
    def title(self) -> str:
        """What it is called where it is missing."""
        return f"figure {self.number}"

    @property
    def series(self) -> str:
        """Itself: each of these figures lacks something of its own."""
        return self.title


@dataclass(frozen=True)
class NotDrawn:
    """Why there is nothing to draw."""

    reason: str


Drawn = Drawing | NotDrawn


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


def _captioned(chart: Drawing, title: str, *lines: str) -> Drawing:
    captioned: Drawing = chart.properties(title=alt.TitleParams(title, subtitle=[line for line in lines if line]))
    return captioned


def _source(number: str) -> str:
    return f"Figure {number} of Voita et al. 2023, for these models."


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
    return _captioned(
        _side_by_side(rows, panels, material.look),
        "Dead neurons and activation frequency by layer",
        f"Dead: never active on {material.seen(models)}. Frequency: mean over the neurons that fired.",
        *material.look.caption(models),
        _source("1"),
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
        panels = [(model, f"{alive[model]:,} alive neurons{_mark(material, model)}") for model in models]
        reference = ", ".join(f"{one:,}" for one in sorted(set(rows.get_column("corpus_coverage"))))
        return _captioned(
            paper_charts.coverage(rows, panels),
            f"Alive neurons of the first half by the number of {_NAMES[n][1]} that cover them",
            f"Fewest {_NAMES[n][1]} that hold 95% of a neuron's activations, on {material.seen(models)}; of all"
            f" positions {reference} do.",
            f"Too few: fewer than {thresholds('coverage_bins')['min_activations']:.0f} activations. {_source(number)}",
            *_not_comparable(material, models),
        )

    return draw


def _labelled(material: Material, n: int) -> tuple[int, str]:
    """The length to draw: `n` where some model can be labelled, else the next shorter one, and then why."""
    detectors = material.kinds.detectors
    for length in range(n, 1, -1):
        if "labelled" in set(detectors.filter(pl.col("n") == length).get_column("status")):
            word = _NAMES[length][1].capitalize()
            why = f"{word}, as {_NAMES[n][1]} cannot be labelled: too few positions carry ones that come often."
            return length, "" if length == n else why
    return 1, "Tokens, as longer n-grams cannot be labelled: too few positions carry ones that come often."


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
        return _captioned(
            _side_by_side(rows.filter(pl.col("model").is_in(models)), panels, material.look),
            f"{one.capitalize()} detectors by layer",
            instead,
            "Detectors: " + ", ".join(f"{counted[model] or 0:,} in {model}" for model in models) + ".",
            f"On {material.seen(models)}. {_rule(length)}",
            *material.look.caption(models),
            _source(number),
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
                f"{f'{most[model]:,} in all layers' if most[model] else 'none in any layer'}{_mark(material, model)}",
            )
            for model in models
        ]
        return _captioned(
            paper_charts.new_ngrams(detected.filter(pl.col("model").is_in(models)), panels),
            f"{_NAMES[length][1].capitalize()} detected in each layer, and how many of them are new there",
            instead,
            f"On {material.seen(models)}. {_rule(length)}",
            *_not_comparable(material, models),
            _source(number),
        )

    return draw


def _positional(material: Material) -> Drawn:
    return _circles(material, material.measured(material.kinds.positions), "Positional neurons by layer", "8")


def _without_positions(material: Material) -> Drawn:
    found, base = material.variants(lambda variant: variant == "no-position")
    if base is None:
        return NotDrawn("the models hold no variant 'no-position' beside a plain one of its size")
    models = material.measured(material.kinds.positions, [base, *found])
    return _circles(material, models, "Positional neurons with and without position embeddings", "10")


def _during_training(material: Material) -> Drawn:
    found, base = material.variants(lambda variant: variant.startswith("step "))
    if base is None:
        return NotDrawn("the models hold no early checkpoint (variant 'step N') beside its trained model")
    models = material.measured(material.kinds.positions, [*found, base])
    return _circles(material, models, "Positional neurons during training", "11")


def _circles(material: Material, models: Sequence[str], title: str, number: str) -> Drawn:
    positions = material.kinds.positions
    if not models:
        return NotDrawn(f"positions were not measured{material.there}")
    sums = positions.group_by("model").agg(pl.col("n_positional").sum(), pl.col("n_positional").null_count().alias("?"))
    known = {model: number for model, number, unknown in sums.iter_rows() if not unknown}
    decided = [model for model in models if model in known]
    if not decided:
        return NotDrawn("the corpus has too few sequences of full length to tell which neurons are positional")
    left_out = [f"{model}: too few sequences of full length." for model in models if model not in known]
    layers = dict(positions.group_by("model").agg(pl.col("layer").max() + 1).iter_rows())
    neurons = dict(positions.group_by("model").agg(pl.col("n_neurons").sum()).iter_rows())
    panels = [(model, f"{known[model]:,} of {neurons[model]:,} neurons{_mark(material, model)}") for model in decided]
    drawn = positions.filter(pl.col("model").is_in(decided))
    sequences = ", ".join(f"{n:,}" for n in sorted(set(drawn.get_column("n_sequences"))))
    least = thresholds("neurons")["positional_information"]
    return _captioned(
        paper_charts.positional(material.positional.filter(pl.col("model").is_in(decided)), panels, layers),
        title,
        f"A circle is a neuron whose activity tells more than {least:g} nats of the position: full colour where the"
        " pattern is strong, pale where weak.",
        f"On {sequences} full-length sequences of {material.corpora(decided)}.",
        *left_out,
        *_not_comparable(material, decided),
        _source(number),
    )


def _ranges(material: Material) -> Drawn:
    models = material.measured(material.kinds.positions)
    known = material.positional.filter(pl.col("model").is_in(models) & pl.col("counts").is_not_null())
    for kinds, strengths, words in _TEAMS:
        team = known.filter(pl.col("position_kind").is_in(kinds) & pl.col("position_strength").is_in(strengths))
        if not team.is_empty():
            return _team(material, models, team, words)
    return NotDrawn("no neuron fires at some positions nearly always and at others hardly ever")


def _team(material: Material, models: Sequence[str], known: pl.DataFrame, words: str) -> Drawn:
    """The layer with the largest team, of the smallest model that has one so large."""
    place = {model: number for number, model in enumerate(models)}
    teams = known.group_by("model", "layer").len().with_columns(pl.col("model").replace_strict(place).alias("place"))
    model, layer = teams.sort(["len", "place", "layer"], descending=[True, False, False]).row(0)[:2]
    team = known.filter((pl.col("model") == model) & (pl.col("layer") == layer))
    runs = paper_charts.covered_ranges(team)
    covered = {position for start, stop in runs.select("start", "stop").iter_rows() for position in range(start, stop)}
    n_positions = len(team.get_column("counts")[0])
    sorts = team.group_by("position_strength", "position_kind", maintain_order=True).len().rows()
    found = "these are " + ", ".join(f"{n} {strength} with {kind}" for strength, kind, n in sorts)
    return _captioned(
        paper_charts.ranges(team),
        f"Positions that {words} neurons of one layer cover",
        f"Layer {layer} of {model}, the layer that has most: {team.height} neurons, which together cover"
        f" {len(covered) / n_positions:.0%} of the positions.",
        f"Covered: active in more than half of {team.get_column('n_sequences')[0]:,} full-length sequences of"
        f" {material.corpora([model])}.",
        ""
        if words == _TEAMS[0][2]
        else f"The paper draws strong oscillatory neurons, of which there are none: {found}.",
        _source("9"),
    )


_TEAMS: tuple[tuple[list[str], list[str], str], ...] = (
    (["oscillatory"], ["strong"], "strong oscillatory"),
    (["oscillatory", "both extremes"], ["strong"], "strong positional"),
    (["oscillatory"], ["strong", "weak"], "oscillatory"),
    (["oscillatory", "both extremes"], ["strong", "weak"], "positional"),
)
"""Whose ranges are drawn: the first kind that any layer has."""

_FIGURES: Mapping[int, tuple[str, Callable[[Material], Drawn]]] = {
    1: ("dead-neurons", _dead),
    2: ("tokens-that-cover", _coverage(1, "2")),
    3: ("token-detectors", _detectors(1, "3")),
    4: ("new-tokens", _new(1, "4")),
    8: ("positional-neurons", _positional),
    9: ("position-ranges", _ranges),
    10: ("without-positions", _without_positions),
    11: ("during-training", _during_training),
    12: ("bigrams-that-cover", _coverage(2, "12")),
    13: ("trigrams-that-cover", _coverage(3, "13")),
    14: ("ngram-detectors", _detectors(3, "14")),
    15: ("new-ngrams", _new(3, "15")),
}


def _rule(n: int) -> str:
    of = thresholds("detected_ngrams")
    most = of["most_tokens"] if n == 1 else of["most_ngrams"]
    return f"A detector answers at most {most:.0f} {_NAMES[n][1]}, each {of['least_recall']:.0%} of the time."


def _mark(material: Material, model: str) -> str:
    return " *" if model in material.look.why_not else ""


def _not_comparable(material: Material, models: Sequence[str]) -> list[str]:
    """As the dashes of lines: a star in a panel's title, and the reason."""
    told = [f"{model} ({material.look.why_not[model]})" for model in models if model in material.look.why_not]
    return [f"* not comparable: {', '.join(told)}."] if told else []


def _step(rows: Sequence[Mapping[str, str]], name: str) -> int:
    """The training step in a variant's name, 0 where it has none."""
    (variant,) = (row["variant"] for row in rows if row["model"] == name)
    digits = "".join(letter for letter in variant if letter.isdigit())
    return int(digits or 0)
