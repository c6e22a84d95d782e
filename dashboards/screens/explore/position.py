"""The page of positional neurons: their kinds by layer, their profiles, and the teams that share the positions."""

import duckdb
import polars as pl
import streamlit as st

from dashboards.charts import positions
from dashboards.colours import ACCENT, KINDS
from dashboards.parts.sizes import sequences
from dashboards.widgets import tables
from dashboards.widgets.figures import Data, data_of, show_figure
from dashboards.widgets.html import plain
from dashboards.widgets.memory import kept
from dashboards.widgets.page import answer, heading, missing
from dashboards.widgets.pickers import pick_corpus, pick_model
from dashboards.widgets.reading import Reading
from queries.ask.statements import filled, statement
from queries.compare.kinds import positional_neurons
from queries.neuron.profiles import frequencies
from queries.views.thresholds import thresholds

MOST_LISTED = 1000
MOST_PROFILES = 40
"""The eye cannot tell more rows apart."""

RANGES = "Covered: active in more than half of the sequences. Figure 9 of Voita et al. 2023."
LISTED = (
    "address",
    "position_kind",
    "position_strength",
    "mutual_information_corrected",
    "domain_agreement",
    "frequency",
    "top_tokens",
)


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Positions")
    model = pick_model(connection).name
    with Reading(connection, [model], pick_corpus(connection, [model], width=300)) as reader:
        _show(reader, model)


def _show(reader: Reading, model: str) -> None:
    data = data_of(reader, "positional_of_model", {"model": model, "n": MOST_LISTED})
    if data.frame.is_empty():
        _say_why(reader, model)
        return
    on = plain(f"on {sequences(data.frame)} full-length sequences of {data.frame.get_column('corpus')[0]}")
    least = thresholds("neurons")["positional_information"]
    kinds = data_of(reader, "kinds_by_layer", {"model": model})
    n_found = int(kinds.frame.get_column("n_neurons").sum())
    st.markdown(
        f"{n_found:,} positional neurons: their firing tells more than {least:g} nats about the position, {on}."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        show_figure(
            "Kinds by layer",
            lambda theme: positions.kinds_by_layer(kinds.frame, KINDS[theme]),
            f"Positional neurons of each kind, pale where weak, {on}. Figure 8 of Voita et al. 2023; kinds: ours.",
            kinds,
            own_legend=True,
        )
    with right:
        _profiles(reader, model, data.frame.head(MOST_PROFILES), on)
    _teams(reader, model)
    listed = "All positional neurons" if n_found == data.frame.height else f"The {data.frame.height:,} most informative"
    st.subheader(listed, anchor=False)
    tables.link_to_neurons(data.frame, LISTED, key="positional", height=420)


def _say_why(reader: Reading, model: str) -> None:
    """Say why no positional neuron is known."""
    measured = data_of(reader, "positions_of_model", {"model": model}).frame.to_dicts()
    if not measured:
        what = "Positions were not measured for this model yet."
        missing(reader.shown, what, [model], jobs=("positions",), corpus=reader.corpus)
        return
    (row,) = measured
    if row["why_not"] is None:
        seen = f"{row['n_sequences']:,} full-length sequences of {row['corpus']}"
        st.info(plain(f"No neuron of {model} is positional on {seen}."))
    else:
        st.info(plain(f"Cannot tell on {row['corpus']} which neurons of {model} are positional ({row['why_not']})."))


def _profiles(reader: Reading, model: str, shown: pl.DataFrame, on: str) -> None:
    places = {"layers": shown.get_column("layer").to_list(), "neurons": shown.get_column("neuron").to_list()}
    data = data_of(reader, "position_profiles", {"model": model, **places})
    cells = profile_cells(data.frame)
    show_figure(
        "Profiles",
        lambda theme: positions.profile_strips(cells, ACCENT[theme]),
        f"Share of the sequences in which a neuron fires, by position, for the {data.frame.height} most informative; "
        f"{on}. Figure 7 of Voita et al. 2023.",
        data,
        own_legend=True,
    )


def profile_cells(profiles: pl.DataFrame) -> pl.DataFrame:
    """A row for each neuron and stretch of positions: address, position, position_to, frequency, in order."""
    cells = []
    for row in profiles.to_dicts():
        n_positions = row["last_position"] - row["first_position"] + 1
        shares = frequencies(row["counts_64"], row["n_sequences"], n_positions) or []
        width = n_positions / max(len(shares), 1)
        for number, share in enumerate(shares):
            start = row["first_position"] + number * width
            cells.append((row["address"], row["position_kind"], start, start + width, share))
    names = ["address", "position_kind", "position", "position_to", "frequency"]
    return pl.DataFrame(cells, schema=names, orient="row")


def _teams(reader: Reading, model: str) -> None:
    teams = data_of(reader, "teams", {"model": model})
    if teams.frame.is_empty():
        return
    st.subheader("Teams", anchor=False)
    left, right = st.columns(2, gap="medium")
    with left:
        tables.show_table(teams.frame.drop("corpus"), key="teams")
        st.caption("Strong positional neurons of a layer and the positions they cover. Figure 9 of Voita et al. 2023.")
    with right:
        known = kept(reader, positional_neurons, [model]).filter(
            pl.col("counts").is_not_null() & (pl.col("position_strength") == "strong")
        )
        layers = known.get_column("layer").unique().sort().to_list()
        if layers:
            layer = st.selectbox("Layer", layers, key="team_layer")
            team = known.filter(pl.col("layer") == layer)
            sql = filled(statement("positional_of_models").strip(), {"models": [model]})
            show_figure(
                f"Positions that the neurons of layer {layer} cover",
                lambda theme: positions.ranges(team, KINDS[theme]).properties(width="container"),
                RANGES,
                Data("team_ranges", sql, team, reader.corpus),
                own_legend=True,
            )


answer(show)
