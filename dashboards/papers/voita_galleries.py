"""Figures 5 to 7 of Voita et al. 2023: detectors in words, and the kinds of positional neurons by example."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import duckdb
import polars as pl

from neurothek.dashboards.charts.positions import KIND_COLOURS, position_profile
from neurothek.dashboards.charts.tokens import detector_table
from neurothek.dashboards.papers.figure import (
    Drawn,
    NotDrawn,
    Setting,
    captioned,
    corpora_in,
    models_in,
    not_comparable,
    number_in,
    source,
)
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.statements import statement
from neurothek.queries.papers import voita as paper
from neurothek.queries.papers.exhibit import Picture
from neurothek.queries.views.neuron_facts import rows_of_models

MOST_DETECTORS = 3
"""Of each model, in the gallery of detectors."""

STRENGTHS = ("strong", "weak")

_IN_ORDER = ("list_position($models::varchar[], model)",)
_WIDTH, _HEIGHT = 190, 110


@dataclass(frozen=True)
class GalleryRows:
    """What these figures are drawn from, of the models compared and in their order."""

    detectors: pl.DataFrame  # the strongest token detectors of each model, with what they promote and suppress
    counted: pl.DataFrame  # rows of `detectors_by_layer` for tokens: of which models detectors are known
    profiles: pl.DataFrame  # of each kind and strength of positional neurons the most informative one, with its counts
    positions: pl.DataFrame  # rows of `positions_by_layer`: of which models positions are known
    setting: Setting

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, models: Sequence[str], setting: Setting) -> "GalleryRows":
        """Read them."""
        parameters = {"models": list(models)}
        strongest = statement("strongest_detectors", "dashboards")
        return cls(
            detectors=run_query(connection, strongest, parameters | {"most": MOST_DETECTORS}),
            counted=rows_of_models(connection, "detectors_by_layer", models, "n", "layer", order=_IN_ORDER).filter(n=1),
            profiles=run_query(connection, statement("position_examples", "dashboards"), parameters),
            positions=rows_of_models(connection, "positions_by_layer", models, "layer", order=_IN_ORDER),
            setting=setting,
        )


def _detectors(rows: GalleryRows) -> Drawn:
    detectors = rows.detectors
    if rows.counted.is_empty():
        return NotDrawn(rows.setting.not_measured("n-grams were not counted", "ngrams"))
    if detectors.is_empty():
        return NotDrawn(f"no model has a token detector on {corpora_in(rows.counted)}")
    totals = dict(rows.counted.group_by("model", maintain_order=True).agg(pl.col("n_detectors").sum()).iter_rows())
    counted = ", ".join(f"{totals[model]:,} in {model}" for model in models_in(detectors))
    without = [model for model, number in totals.items() if not number]
    return captioned(
        detector_table(detectors),
        "Tokens that token detectors fire on, promote and suppress",
        f"Detectors on {corpora_in(detectors)}: {counted}; of each model the {MOST_DETECTORS} whose tokens hold most of"
        " their activations.",
        f"There are none in {', '.join(without)}." if without else "",
        "Scores are raw: negative where the neuron suppresses what it fires on. Bold: a token that it fires on.",
        "" if detectors["pole"].is_null().all() else "Where a pole is named, scores and lists are those of that pole.",
        *not_comparable(detectors, rows.setting.look),
        "Figures 5 and 6 of Voita et al. 2023 give such examples; these are of these models.",
    )


def _positions(rows: GalleryRows) -> Drawn:
    profiles, positions = rows.profiles, rows.positions
    if positions.is_empty():
        return NotDrawn(rows.setting.not_measured("positions were not measured", "positions"))
    if profiles.is_empty() and positions.get_column("n_positional").null_count() == positions.height:
        return NotDrawn("the corpus has too few sequences of full length to tell which neurons are positional")
    if profiles.is_empty():
        return NotDrawn(f"no neuron of these models is positional on {corpora_in(positions)}")
    profile_of = {(row["position_kind"], row["position_strength"]): row for row in profiles.to_dicts()}
    cells = [(kind, strength) for strength in STRENGTHS for kind in KIND_COLOURS]
    panels = [
        _profile(profiles.filter(position_kind=kind, position_strength=strength), kind, strength)
        for kind, strength in cells
    ]
    missing = [f"{strength} {kind}" for kind, strength in cells if (kind, strength) not in profile_of]
    return captioned(
        # Every panel has the colour of its kind for the whole text.
        alt.concat(*panels, columns=len(KIND_COLOURS)).resolve_scale(color="independent"),
        "Kinds of positional neurons: frequency at every position",
        "Of each kind and strength the neuron with the most information about the position, in nats; in brackets, how "
        "many there are.",
        f"On {number_in(profiles, 'n_sequences')} full-length sequences of {corpora_in(profiles)}.",
        f"None in these models: {', '.join(missing)}." if missing else "",
        *not_comparable(profiles, rows.setting.look),
        source(paper.KINDS_OF_POSITIONS),
    )


def _profile(profile: pl.DataFrame, kind: str, strength: str) -> alt.Chart:
    """One neuron's frequencies, or an empty panel where there is none of the kind."""
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="%", values=[0, 0.5, 1])
    up = alt.Y("frequency:Q", title=None, scale=scale, axis=axis)
    if profile.is_empty():
        nothing = alt.Chart(pl.DataFrame({"frequency": [0.5], "text": ["none"]}))
        empty: alt.Chart = nothing.mark_text(color="#8a8a8a").encode(up, alt.Text("text:N"))
        return empty.properties(width=_WIDTH, height=_HEIGHT, title=_title(f"{strength}, {kind} (0)", " "))
    row = profile.row(0, named=True)
    under = f"{row['address']}, {row['mutual_information_corrected']:.2f}"
    whole = profile.with_columns(pl.lit("all").alias("domain"), pl.lit(None).alias("frequencies"))
    across = alt.X("position:Q", title=None, axis=alt.Axis(tickCount=4, format="d", grid=False))
    chart: alt.Chart = position_profile(whole, KIND_COLOURS[kind]).encode(across, up)
    title = _title(f"{strength}, {kind} ({row['n_alike']:,})", under)
    return chart.properties(width=_WIDTH, height=_HEIGHT, title=title)


def _title(words: str, under: str) -> alt.TitleParams:
    return alt.TitleParams(words, subtitle=under, fontSize=11, subtitleFontSize=10)


DRAWINGS: Mapping[Picture, Callable[[GalleryRows], Drawn]] = {
    paper.DETECTORS_IN_WORDS: _detectors,
    paper.KINDS_OF_POSITIONS: _positions,
}
