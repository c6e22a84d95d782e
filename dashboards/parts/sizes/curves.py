"""The figures that compare sizes on a page: curves by depth, how frequencies spread, which neurons are of a kind."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import polars as pl
import streamlit as st

from neurothek.dashboards.charts import layers as charts
from neurothek.dashboards.charts import models
from neurothek.dashboards.charts import spread as spread_charts
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.parts.sizes.conclusions import Card
from neurothek.dashboards.parts.sizes.selection import Sizes, sequences
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.figures import Data, on_paper, show_drawing, show_figure, show_source, statement
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import Theme, theme
from neurothek.queries.ask.statements import filled
from neurothek.queries.views.contents import thresholds
from neurothek.queries.views.neuron_facts import SMALLEST_FIRST, of_models

DEAD_BY_DEPTH = """\
-- The share of dead neurons in each layer, at the layer's relative depth; null for models without exact zeros.
select model, layer, depth, dead_share, n_dead, n_neurons, n_tokens_seen, corpus,
from layer_activity
where list_contains($models::varchar[], model)
order by size, model, layer"""

FREQUENCY_BY_DEPTH = """\
-- How often those neurons of each layer that fired at all fire, at the layer's relative depth; only of models with
-- exact zeros: of others half of the activations count.
select
    model,
    layer,
    depth,
    mean_frequency,
    median_frequency,
    n_neurons - n_never_active as n_alive,
    n_tokens_seen,
    corpus,
from layer_activity
where n_dead is not null and list_contains($models::varchar[], model)
order by size, model, layer"""

_SPARSENESS_BY_DEPTH = """\
-- How sparse the neurons of each layer are, and which share of them hardly matters, at the layer's relative depth; only
-- of models without exact zeros, whose neurons are never dead.
select
    model,
    layer,
    depth,
    median_effective_frequency,
    negligible_share,
    n_negligible,
    n_neurons,
    n_tokens_seen,
    corpus,
from layer_activity
where n_dead is null and list_contains($models::varchar[], model)
order by size, model, layer"""

DEAD_BY_TOKENS = """\
-- The share of neurons that had not fired yet after so many tokens; null for models without exact zeros.
select curve.model, curve.n_tokens, curve.dead_share, curve.n_never_active as n_dead, curve.n_neurons, curve.corpus,
from dead_by_tokens as curve
inner join models on models.model = curve.model
where
    curve.domain = 'all' and curve.region = 'model' and list_contains($models::varchar[], curve.model)
order by models.size, curve.model, curve.n_tokens"""

VOITA, GEVA = "Voita et al. 2023", "Geva et al. 2022"
INK = {"light": "#222222", "dark": "#e6e6e6"}
"""Of the numbers beside points."""

_SUPPRESSION = ("model", "n_detectors", "observed", "observed_low", "observed_high", "expected", "difference")


@dataclass(frozen=True)
class Curve:
    """A number of the layers of models against depth."""

    title: str  # what it shows
    data: Data  # the rows
    number: charts.OfLayer  # the column that is drawn
    caption: str  # what one sees, in a line
    source: str  # whose figure or definition it is
    nothing: str  # what is said instead where all of it is 0, a single detector, or a share of few neurons
    n_neurons: int | None = None  # how many neurons the shares are of in all; None: they are no shares of neurons

    @property
    def is_sparse(self) -> bool:
        """Whether there is next to nothing to see."""
        numbers = self.data.frame.get_column(self.number).drop_nulls()
        if self.n_neurons is not None and self.n_neurons < _FEW and max(numbers, default=0) < _SMALL:
            return True
        return not numbers.sum() or (not numbers.dtype.is_float() and numbers.sum() == 1)


def draw(sizes: Sizes, cards: Sequence[Card]) -> None:
    """All of them, from the cards on."""
    fill(sizes, cards)
    st.header("By depth", anchor=False)
    _draw_curves(sizes, [*_of_activity(sizes), *_of_detectors(sizes), *_of_positions(sizes), *_of_predictions(sizes)])
    _frequencies_and_kinds(sizes)
    if not sizes.typology("detectors").frame.is_empty():
        _detected(sizes)


_FREQUENCIES, _RESPONSES = "Distribution of frequencies", "Tokens that neurons respond to"


def _frequencies_and_kinds(sizes: Sizes) -> None:
    """Two sections; where each has a single figure beside each other, as each would leave half of a row empty."""
    dead_by_tokens = sizes.data("dead_by_tokens", DEAD_BY_TOKENS)
    frequencies: list[Callable[[], None]] = [partial(_spread, sizes)]
    if _is_known(dead_by_tokens.frame, "dead_share"):
        frequencies.append(partial(_dead_by_tokens, sizes, dead_by_tokens))
    kinds = _figures_of_kinds(sizes)
    if len(frequencies) == len(kinds) == 1:
        for column, title, figure in zip(
            st.columns(2, gap="medium"), (_FREQUENCIES, _RESPONSES), (*frequencies, *kinds), strict=True
        ):
            with column:
                st.header(title, anchor=False)
                figure()
        return
    for title, figures in ((_FREQUENCIES, frequencies), (_RESPONSES, kinds)):
        if figures:
            st.header(title, anchor=False)
        for column, figure in zip(st.columns(2, gap="medium"), figures, strict=False):
            with column:
                figure()


def fill(sizes: Sizes, cards: Sequence[Card]) -> None:
    """Draw what stands below the numbers of the cards, and their menus."""
    sql = filled(of_models("scaling", SMALLEST_FIRST), {"models": list(sizes.names)})
    for card in cards:
        title, name = card.measure.title, f"size_{card.measure.column}"
        draw_card = partial(_draw_card, models.labelled(card.points), sizes.look)
        with card.place:
            show_drawing(title, draw_card(theme()), name)
        with card.menu:
            show_source(Data(name, sql, card.points, sizes.reader.corpus), partial(on_paper, title, draw_card))


def _draw_card(rows: pl.DataFrame, look: Callable[[Theme], Look], theme: Theme) -> Drawing:
    return models.against_size(rows, look(theme), INK[theme])


def _draw_curves(sizes: Sizes, curves: Sequence[Curve]) -> None:
    """Two in a row, three in the first of an odd number; of those that would show nothing a sentence each, below."""
    drawn = [curve for curve in curves if not curve.is_sparse]
    n_first = 3 if len(drawn) % 2 and len(drawn) > 1 else 2
    for start, end in pairwise([0, *range(n_first, len(drawn), 2), len(drawn)]):
        for column, curve in zip(st.columns(max(2, end - start), gap="medium"), drawn[start:end], strict=False):
            with column:
                _draw_curve(sizes, curve)
    sentences = [curve.nothing for curve in curves if curve.is_sparse]
    if sentences:
        st.caption(plain(" ".join(sentences)))


def _draw_curve(sizes: Sizes, curve: Curve) -> None:
    frame = curve.data.frame
    show_figure(
        curve.title,
        lambda theme: charts.by_depth(frame, curve.number, sizes.look(theme)),
        curve.caption,
        curve.data,
        source=curve.source,
    )


def _of_activity(sizes: Sizes) -> Iterator[Curve]:
    dead = sizes.data("dead_by_depth", DEAD_BY_DEPTH)
    if _is_known(dead.frame, "dead_share"):
        with_zeros = _these(sizes, dead.frame.filter(pl.col("dead_share").is_not_null()))
        yield Curve(
            "Dead neurons",
            dead,
            "dead_share",
            f"Never active {sizes.on_text}.",
            f"Figure 1 of {VOITA}, dead neurons by layer. A prepended BOS does not count, a choice of this project.",
            few_of_kind(dead.frame, "n_dead", "dead", f"of {with_zeros}", sizes.on_text),
            int(dead.frame.get_column("n_dead").sum()),
        )
        yield Curve(
            "Activation frequency",
            sizes.data("frequency_by_depth", FREQUENCY_BY_DEPTH),
            "mean_frequency",
            f"Share of the tokens at which a neuron is active, mean over those that fired {sizes.on_text}.",
            f"Figure 1 of {VOITA}, activation frequency by layer.",
            f"No neuron of {with_zeros} fired {sizes.on_text}.",
        )
    sparse = sizes.data("sparseness_by_depth", _SPARSENESS_BY_DEPTH)
    if sparse.frame.is_empty():
        return
    without = _these(sizes, sparse.frame)
    yield Curve(
        "Effective frequency",
        sparse,
        "median_effective_frequency",
        "The median neuron's (Σ|m|)² / (N Σm²): no threshold says what is active, as no activation of "
        f"{without} is exactly 0; {sizes.on_text}.",
        "After Treves and Rolls 1991.",
        f"No neuron of {without} has an activation {sizes.on_text}.",
    )
    sizes.missing(
        "Contributions were not measured, so negligible neurons are unknown",
        "poles",
        having=set(sizes.names) - _without_share(sparse),
    )
    if _is_known(sparse.frame, "negligible_share"):
        yield Curve(
            "Negligible neurons",
            sparse.showing("negligible_by_depth"),
            "negligible_share",
            f"Never 1% of the output of their FFN {sizes.on_text}: what dead neurons are where no activation is 0.",
            "Source: this project.",
            few_of_kind(sparse.frame, "n_negligible", "negligible", f"of {without}", sizes.on_text),
            int(sparse.frame.get_column("n_negligible").sum()),
        )


def few_of_kind(rows: pl.DataFrame, count: str, kind: str, whose: str, on_text: str) -> str:
    """How few neurons are dead or negligible, and where these are: shares of so few would be an axis for nothing.

    Args:
        rows: rows with model, layer and the count.
        count: the column that says how many neurons of the layer are.
        kind: what they are.
        whose: of which models.
        on_text: on which tokens.
    """
    held = rows.filter(pl.col(count) > 0).sort(count, descending=True, maintain_order=True)
    total = int(held.get_column(count).sum())
    if not total:
        return f"No neuron {whose} is {kind} {on_text}."
    places = ", ".join(f"{row[count]} in layer {row['layer']} of {row['model']}" for row in held.to_dicts())
    verb = "neuron is" if total == 1 else "neurons are"
    return f"{total} {verb} {kind} {on_text}: {places}."


_FEW, _SMALL = 10, 0.01
"""Neurons of a kind, or the largest share of a layer, from which on their share by depth is drawn."""


def _these(sizes: Sizes, rows: pl.DataFrame) -> str:
    """The models of the rows: by name where the page has others, of which a sentence about these would be false."""
    models = [name for name in sizes.names if name in set(rows.get_column("model"))]
    return "these models" if len(models) == len(sizes.names) else ", ".join(models)


def _without_share(sparse: Data) -> set[str]:
    """The models without exact zeros whose contributions were not measured."""
    return set(sparse.frame.filter(pl.col("negligible_share").is_null()).get_column("model"))


def _of_detectors(sizes: Sizes) -> Iterator[Curve]:
    data = sizes.typology("detectors")
    sizes.missing("N-grams were not counted, so token detectors are unknown", "ngrams", having=data.models)
    if data.frame.is_empty():
        return
    of = thresholds("detected_ngrams")
    tokens = _of_tokens(data)
    yield Curve(
        "Token detectors",
        tokens,
        "n_detectors",
        f"Neurons that respond to at most {of['most_tokens']:.0f} tokens, each {of['least_recall']:.0%} of the time, "
        f"{sizes.on_text}.",
        f"Figure 3a of {VOITA}.",
        _few_detectors(tokens.frame, sizes.on_text),
    )


def _of_positions(sizes: Sizes) -> Iterator[Curve]:
    data = sizes.typology("positions")
    sizes.missing("Positions were not measured, so positional neurons are unknown", "positions", having=data.models)
    if data.frame.is_empty():
        return
    if not _is_known(data.frame, "n_positional"):
        st.caption("The corpus has too few sequences of full length to tell which neurons are positional.")
    else:
        least, n = thresholds("neurons")["positional_information"], sequences(data.frame)
        yield Curve(
            "Positional neurons",
            data,
            "positional_share",
            f"Activity carries more than {least:g} nats about the position, on {n} full-length sequences.",
            f"Figure 8 of {VOITA}.",
            f"No neuron of these models is positional on {n} full-length sequences.",
        )


def _of_predictions(sizes: Sizes) -> Iterator[Curve]:
    data = sizes.of_view("saturation_by_layer", "layer")
    sizes.missing("Events were not measured, so where predictions settle is unknown", "events", having=data.models)
    if data.frame.is_empty():
        return
    examples = ", ".join(f"{number:,}" for number in sorted(set(data.frame.get_column("n_examples"))))
    yield Curve(
        "Where predictions settle",
        data,
        "cumulative_share",
        f"Share of {examples} examples whose final token is at the top from this layer or an earlier one on.",
        f"Tables 9 and 10 of {GEVA}, summed up over layers, so that models of different depth compare.",
        f"No prediction settles, on {examples} examples.",
    )
    yield Curve(
        "Neurons that make up an update",
        sizes.of_view("dominant_share", "layer"),
        "effective_share",
        "Mean effective number of neurons in a layer's update, (Σc)² / Σc² of their contributions c, as a "
        f"share of the layer's neurons, on {examples} examples.",
        f"Source: this project, after Figure 6 of {GEVA}, whose ten largest neurons are another share of every width.",
        f"No update has an active neuron, on {examples} examples.",
    )


def _spread(sizes: Sizes) -> None:
    spread = sizes.data("frequency_distribution", statement("frequency_distribution"))
    title = "frequency" if _has_zeros(sizes) else "effective frequency"
    show_figure(
        "Frequencies of the neurons",
        lambda theme: spread_charts.frequency_distribution(spread.frame, sizes.look(theme), title=title),
        f"{_spread_over(sizes)} eight bins per factor of ten.",
        spread,
        source=f"This project's; the frequency is that of {VOITA}, section 3.",
    )


def _dead_by_tokens(sizes: Sizes, curve: Data) -> None:
    show_figure(
        "Dead neurons against tokens seen",
        lambda theme: spread_charts.dead_by_tokens(curve.frame, sizes.look(theme)),
        "Where a curve still falls at its end, some of the dead neurons would fire on more text.",
        curve,
        source="Source: this project.",
    )


def _has_zeros(sizes: Sizes) -> bool:
    """Whether the activation of any of the models can be exactly 0."""
    return _is_known(sizes.data("dead_by_depth", DEAD_BY_DEPTH).frame, "dead_share")


def _spread_over(sizes: Sizes) -> str:
    if not _has_zeros(sizes):
        return f"Neurons by effective frequency {sizes.on_text}, as no activation of these models is 0;"
    return f"Neurons that fired at least once {sizes.on_text}; effective frequencies where no activation is 0;"


def _figures_of_kinds(sizes: Sizes) -> list[Callable[[], None]]:
    """Which tokens neurons respond to, and which positions."""
    has_tokens = not sizes.typology("detectors").frame.is_empty()
    positions = sizes.typology("positions")
    has_positions = not positions.frame.is_empty() and bool(positions.frame.get_column("n_positional").sum())
    figures: list[Callable[[], None]] = [partial(_coverage, sizes)] if has_tokens else []
    return [*figures, *([partial(_kinds_of_positional, sizes, positions)] if has_positions else [])]


def _coverage(sizes: Sizes) -> None:
    everything = sizes.typology("coverage")
    rows = everything.frame.filter((pl.col("region") == "first half") & (pl.col("n") == 1))
    least = thresholds("coverage_bins")["min_activations"]
    of_text = sorted(set(rows.get_column("corpus_coverage").drop_nulls()))
    show_figure(
        "Tokens that cover a neuron",
        lambda theme: charts.bars_by_model(
            rows, "bin", "share", sizes.look(theme), title="alive neurons", order="bin_order"
        ),
        "Alive neurons of the first half of the layers, by the fewest tokens that hold 95% of their activations, "
        f"{sizes.on_text}; too few: fewer than {least:.0f} activations. {covering_text(of_text)}".rstrip(),
        everything.showing("coverage", rows),
        source=f"Figure 2 of {VOITA}.",
    )


def covering_text(coverages: Sequence[int]) -> str:
    """What is the same of the text itself, beside which few tokens are few.

    Args:
        coverages: the fewest tokens that hold 95% of the positions of each text.
    """
    return f"Of the text itself {' or '.join(f'{one:,}' for one in coverages)} tokens hold 95%." if coverages else ""


def _kinds_of_positional(sizes: Sizes, positions: Data) -> None:
    kinds = positions.showing("positional_kinds", by_kind(positions.frame))
    show_figure(
        "Positional neurons by kind",
        lambda theme: charts.bars_by_model(
            kinds.frame, "kind", "n_neurons", sizes.look(theme), title="positional neurons"
        ),
        f"Strong and weak ones, on {sequences(positions.frame)} full-length sequences.",
        kinds,
        source="The kinds are this project's.",
    )


def _detected(sizes: Sizes) -> None:
    """Which tokens detectors detect; nothing where there are next to none, which is said by depth."""
    tokens = _of_tokens(sizes.typology("detected"))
    n_detectors = _of_tokens(sizes.typology("detectors")).frame.get_column("n_detectors").sum()
    if n_detectors <= 1:
        return
    if not tokens.frame.is_empty():
        columns = st.columns(3, gap="medium")
        of: tuple[tuple[str, charts.OfLayer, str, str], ...] = (
            ("Tokens detected", "n_detected", f"In the layer, {sizes.on_text}.", "3b"),
            ("Tokens detected so far", "n_cumulative", "In the layer or any below it.", "3b"),
            ("Tokens new in a layer", "n_new", "In the layer and in none below it.", "4"),
        )
        for column, (title, number, caption, figure) in zip(columns, of, strict=True):
            with column:
                data = tokens.showing(f"detected_{number}")
                _draw_curve(sizes, Curve(title, data, number, caption, f"Figure {figure} of {VOITA}.", ""))
    suppression = sizes.typology("suppression").frame
    if not suppression.is_empty():
        with st.expander("Detectors that suppress the tokens that trigger them"):
            tables.show_table(suppression.select(_SUPPRESSION), key="suppression")
            st.caption(
                "Observed share with its Wilson 95% interval, and the share expected of equally frequent tokens. "
                f"{plain(VOITA)}, section 4.4; the base rate is this project's."
            )


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


def _few_detectors(rows: pl.DataFrame, on_text: str) -> str:
    """Where the only detector is, or that there is none."""
    having = rows.filter(pl.col("n_detectors") > 0).rows(named=True)
    if not having:
        return f"No neuron of these models detects a token, {on_text}."
    return f"One neuron alone detects a token, in layer {having[0]['layer']} of {having[0]['model']}."


def _of_tokens(data: Data) -> Data:
    return data.showing(data.name, data.frame.filter(pl.col("n") == 1))


def _is_known(frame: pl.DataFrame, column: str) -> bool:
    return frame.get_column(column).null_count() < frame.height
