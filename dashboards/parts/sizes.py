"""The figures that compare sizes on a page: the rows that each is drawn from, and its caption."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl
import streamlit as st

from dashboards.charts import layers as charts
from dashboards.charts import spread as spread_charts
from dashboards.charts.models import Look
from dashboards.colours import model_colours
from dashboards.widgets import tables
from dashboards.widgets.figures import Data, data_of, data_of_models, show_figure
from dashboards.widgets.page import Theme, missing
from dashboards.widgets.reading import Reading
from queries.ask.statements import filled
from queries.compare.comparison import Comparison
from queries.compare.kinds import kinds_statement
from queries.views.thresholds import thresholds

DEAD = (
    "Dead: never active on the tokens seen ({seen}), not counting a prepended BOS (a choice of "
    "this project). Figure 1 of Voita et al. 2023, dead neurons by layer."
)
FREQUENCY = (
    "Share of the tokens seen ({seen}) at which a neuron of the layer is active, mean over those that fired. "
    "Figure 1 of Voita et al. 2023, activation frequency by layer."
)
DISTRIBUTION = (
    "Neurons that fired at least once on the tokens seen ({seen}), eight bins per factor of ten. Source: this "
    "project; the frequency is that of Voita et al. 2023, section 3."
)
DEAD_BY_TOKENS = (
    "How the share of dead neurons falls with the text read, to the end of the corpus ({seen}). Where a curve still "
    "falls, some of the dead neurons would fire on more text. Source: this project."
)
COVERAGE = (
    "Alive neurons of the first half of the layers, by the fewest tokens that hold 95% of their activations, on {seen} "
    "tokens; too few: fewer than {least:.0f} activations. Figure 2 of Voita et al. 2023."
)
DETECTORS = (
    "Neurons that respond to at most {most:.0f} tokens, each {recall:.0%} of the time, on {seen} tokens. "
    "Figure 3a of Voita et al. 2023."
)
DETECTED = "Distinct tokens that a detector of the layer detects, on {seen} tokens. Figure 3b of Voita et al. 2023."
CUMULATIVE = "The same, in the layer or any below it. Figure 3b of Voita et al. 2023."
NEW = "Detected in the layer and in none below it. Figure 4 of Voita et al. 2023."
SUPPRESSION = (
    "Token detectors that suppress the tokens that trigger them: observed share with its Wilson 95% interval, and the "
    "share expected of equally frequent tokens. Voita et al. 2023, section 4.4; the base rate is this project's."
)
POSITIONAL = (
    "Neurons whose activity tells more than {least:g} nats about the position, on {sequences} full-length sequences. "
    "Figure 8 of Voita et al. 2023."
)
KINDS = (
    "Positional neurons by kind, strong and weak, on {sequences} full-length sequences. The kinds are this project's."
)

SETTLED = (
    "Share of {examples} examples whose final token is at the top from this layer on. Tables 9 and 10 of Geva et al. "
    "2022, which number layers from 1."
)
DOMINANT = (
    "Mean share of a layer's update that its ten largest neurons hold, on {examples} examples. Figure 6 of Geva et al. "
    "2022."
)


@dataclass(frozen=True)
class Sizes:
    """What the figures are drawn from.

    Attributes:
        reader: what the page reads, of the corpus that was asked for or of each model's shown one.
        comparison: the models side by side.
        names: the models, smallest first.
        look: colours and dashes of the models in a theme.
    """

    reader: Reading
    comparison: Comparison
    names: Sequence[str]
    look: Callable[[Theme], Look]

    def data(self, name: str) -> Data:
        """Rows of one of the dashboard's own statements about these models."""
        return data_of(self.reader, name, {"models": list(self.names)})

    def of_view(self, view: str, *then: str) -> Data:
        """Rows of a view about these models."""
        return data_of_models(self.reader, view, self.names, *then)

    def typology(self, part: str) -> Data:
        """Rows of the comparison about kinds of neurons, with the statement that yields them."""
        frame: pl.DataFrame = getattr(self.comparison.typology, part)
        sql = filled(kinds_statement(part), {"models": list(self.names)})
        return Data(part, sql, frame, self.reader.corpus)

    def missing(self, what: str, *jobs: str) -> None:
        """Say that the models were not measured by jobs on the corpus, and which command does it."""
        missing(self.reader.shown, what, self.names, jobs=jobs, corpus=self.reader.corpus)

    def seen(self) -> str:
        """How many tokens the models were run on, in words."""
        return tokens_seen(self.comparison.models)


def tokens_seen(models: pl.DataFrame) -> str:
    """How many tokens the models were run on, in words: one number where it is the same for all."""
    watched = models.filter(pl.col("n_tokens_seen").is_not_null())
    numbers = dict(zip(watched.get_column("model"), watched.get_column("n_tokens_seen"), strict=True))
    if len(set(numbers.values())) == 1:
        return f"{next(iter(numbers.values())):,}"
    return ", ".join(f"{model} {number:,}" for model, number in numbers.items())


def look_of(models: Sequence[str], comparison: Comparison) -> Callable[[Theme], Look]:
    """How the models look in a theme: colours by their place among all, dashes where they cannot be compared."""
    return lambda theme: Look(model_colours(models, theme=theme), comparison.why_not())


def draw(sizes: Sizes) -> None:
    """All of them, from the dead neurons to where predictions settle."""
    activity(sizes)
    detectors(sizes)
    positions(sizes)
    predictions(sizes)


def activity(sizes: Sizes) -> None:
    """Dead neurons and frequencies."""
    st.subheader("Dead neurons and frequencies", anchor=False)
    left, right = st.columns(2, gap="medium")
    with left:
        dead = sizes.data("dead_by_depth")
        if _is_known(dead.frame, "dead_share"):
            _by_depth(sizes, "Dead neurons by depth", dead, "dead_share", DEAD)
        else:
            st.info("Activations of these models are never exactly 0, so none of their neurons can be called dead.")
    with right:
        _by_depth(sizes, "Frequency by depth", sizes.data("frequency_by_depth"), "mean_frequency", FREQUENCY)
    left, right = st.columns(2, gap="medium")
    with left:
        spread = sizes.data("frequency_distribution")
        show_figure(
            "Frequencies of the neurons that fired",
            lambda theme: spread_charts.frequency_distribution(spread.frame, sizes.look(theme)),
            DISTRIBUTION.format(seen=sizes.seen()),
            spread,
        )
    with right:
        curve = sizes.data("dead_by_tokens")
        if _is_known(curve.frame, "dead_share"):
            show_figure(
                "Dead neurons against tokens seen",
                lambda theme: spread_charts.dead_by_tokens(curve.frame, sizes.look(theme)),
                DEAD_BY_TOKENS.format(seen=sizes.seen()),
                curve,
            )


def detectors(sizes: Sizes) -> None:
    """Which tokens the neurons respond to, and whether they suppress them."""
    st.subheader("Neurons that respond to tokens", anchor=False)
    rows = sizes.typology("detectors").frame
    if rows.is_empty():
        sizes.missing("No n-grams were counted for these models yet.", "ngrams")
        return
    tokens = _of_tokens(sizes.typology("detected"))
    left, right = st.columns(2, gap="medium")
    with left:
        _coverage(sizes)
    with right:
        of = thresholds("detected_ngrams")
        caption = DETECTORS.format(seen=sizes.seen(), most=of["most_tokens"], recall=of["least_recall"])
        _by_depth(sizes, "Token detectors by depth", _of_tokens(sizes.typology("detectors")), "n_detectors", caption)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _by_depth(sizes, "Tokens detected", tokens, "n_detected", DETECTED)
    with middle:
        _by_depth(sizes, "Tokens detected so far", tokens, "n_cumulative", CUMULATIVE)
    with right:
        _by_depth(sizes, "Tokens new in a layer", tokens, "n_new", NEW)
    suppression = sizes.typology("suppression").frame
    if not suppression.is_empty():
        st.markdown("**Detectors that suppress their tokens**")
        tables.show_table(suppression.select(_SUPPRESSION), key="suppression")
        st.caption(SUPPRESSION)


_SUPPRESSION = ("model", "n_detectors", "observed", "observed_low", "observed_high", "expected", "difference")


def positions(sizes: Sizes) -> None:
    """Which neurons depend on the position."""
    st.subheader("Positional neurons", anchor=False)
    data = sizes.typology("positions")
    if data.frame.is_empty():
        sizes.missing("Positions were not measured for these models yet.", "positions")
        return
    if not _is_known(data.frame, "n_positional"):
        st.info("The corpus has too few sequences of full length to tell which neurons are positional.")
        return
    told = {"least": thresholds("neurons")["positional_information"], "sequences": sequences(data.frame)}
    left, right = st.columns(2, gap="medium")
    with left:
        _by_depth(sizes, "Positional neurons by depth", data, "positional_share", POSITIONAL.format(**told))
    with right:
        kinds = data.showing("positional_kinds", by_kind(data.frame))
        show_figure(
            "Positional neurons by kind",
            lambda theme: charts.bars_by_model(
                kinds.frame, "kind", "n_neurons", sizes.look(theme), title="positional neurons"
            ),
            KINDS.format(**told),
            kinds,
        )


def predictions(sizes: Sizes) -> None:
    """In which layers predictions settle."""
    st.subheader("Where predictions settle", anchor=False)
    data = sizes.of_view("saturation_by_layer", "layer")
    if data.frame.is_empty():
        sizes.missing("Events were not measured for these models yet.", "events")
        return
    examples = ", ".join(f"{number:,}" for number in sorted(set(data.frame.get_column("n_examples"))))
    left, right = st.columns(2, gap="medium")
    with left:
        _by_depth(sizes, "Predictions settled", data, "saturated_share", SETTLED.format(examples=examples))
    with right:
        dominant = sizes.of_view("dominant_share", "layer")
        _by_depth(sizes, "Ten largest neurons", dominant, "dominant_share", DOMINANT.format(examples=examples))


def by_kind(layers: pl.DataFrame) -> pl.DataFrame:
    """How many positional neurons of each kind each model has: rows with model, kind, n_neurons, n_strong."""
    names = {
        "oscillatory": "oscillatory",
        "both extremes": "both_extremes",
        "one extreme": "one_extreme",
        "other": "other",
    }
    counted = [
        layers.group_by("model", maintain_order=True).agg(
            pl.lit(kind).alias("kind"),
            (pl.col(f"n_{name}_strong") + pl.col(f"n_{name}_weak")).sum().alias("n_neurons"),
            pl.col(f"n_{name}_strong").sum().alias("n_strong"),
        )
        for kind, name in names.items()
    ]
    return pl.concat(counted)


def sequences(positions: pl.DataFrame) -> str:
    """On how many full-length sequences, in words."""
    return ", ".join(f"{number:,}" for number in sorted(set(positions.get_column("n_sequences").drop_nulls())))


def _coverage(sizes: Sizes) -> None:
    everything = sizes.typology("coverage")
    rows = everything.frame.filter((pl.col("region") == "first half") & (pl.col("n") == 1))
    data = everything.showing("coverage", rows)
    caption = COVERAGE.format(seen=sizes.seen(), least=thresholds("coverage_bins")["min_activations"])
    show_figure(
        "Tokens that cover a neuron",
        lambda theme: charts.bars_by_model(
            rows, "bin", "share", sizes.look(theme), title="alive neurons", order="bin_order"
        ),
        caption,
        data,
    )


def _by_depth(sizes: Sizes, title: str, data: Data, number: charts.OfLayer, caption: str) -> None:
    said = caption.format(seen=sizes.seen()) if "{seen}" in caption else caption
    shown = data.showing(f"{data.name}_{number}" if data.name in _SHARED else data.name)
    show_figure(title, lambda theme: charts.by_depth(data.frame, number, sizes.look(theme)), said, shown)


_SHARED = ("detected",)
"""Rows that several figures draw, each under a name of its own."""


def _of_tokens(data: Data) -> Data:
    return data.showing(data.name, data.frame.filter(pl.col("n") == 1))


def _is_known(frame: pl.DataFrame, column: str) -> bool:
    return frame.get_column(column).null_count() < frame.height
