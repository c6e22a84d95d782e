"""The page of positional neurons: their kinds by layer, their profiles, and the teams that share the positions."""

import duckdb
import polars as pl
import streamlit as st

from neurothek.catalog.spelling import spoken_corpus
from neurothek.dashboards.charts import positions
from neurothek.dashboards.charts.maps import position_map
from neurothek.dashboards.colours import KINDS
from neurothek.dashboards.parts.explore.headlines import positions_headline, team_sentence
from neurothek.dashboards.parts.explore.map_of_neurons import open_chosen
from neurothek.dashboards.parts.explore.promoted import muted_caption, rows_html, with_promoted_at_pole
from neurothek.dashboards.parts.muted import pick_muted
from neurothek.dashboards.parts.sizes.selection import sequences
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import asked_among, own_key, remember
from neurothek.dashboards.widgets.figures import Data, data_of, data_of_query, show_figure
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import answer, heading, missing, show_command, show_preview
from neurothek.dashboards.widgets.pickers import ALONE, pick_corpus, pick_model, say_unknown_model
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.ask.statements import filled, statement
from neurothek.queries.compare.kinds import positional_neurons
from neurothek.queries.names.models import KnownModel, measured_corpora
from neurothek.queries.names.unmeasured import corpus_recipes, ingest_words
from neurothek.queries.views.contents import thresholds

_KINDS_BY_LAYER = """\
-- How many positional neurons of each kind and strength each layer of one model has.
with layers as (
    from positions_by_layer
    where model = $model and why_not is null
)
select
    layer,
    replace(regexp_extract(counted, '^n_(.*)_', 1), '_', ' ') as position_kind,
    regexp_extract(counted, '[a-z]+$') as position_strength,
    n_counted as n_neurons,
    n_sequences,
from (unpivot layers on columns('^n_.*_(strong|weak)$') into name counted value n_counted)
where n_counted > 0
order by layer, position_kind, position_strength"""

_POSITIONS_OF_MODEL = """\
-- How many full-length sequences a model's positions rest on, and why these are not enough, if they are not.
select n_sequences, why_not, corpus
from positions_by_layer
where model = $model
limit 1;"""

_TEAMS = """\
-- Which positions the strong positional neurons of each layer of one model cover together.
select layer, team, n_neurons, n_ranges, n_positions, covered_share, n_covered_once, n_redundant, corpus,
from position_teams
where model = $model
order by layer, team"""

MOST_LISTED = 300
MOST_ROWS = 120
"""Rows of a heat map: a screen's height, at a few pixels each."""

RANGES = "Covered: active in more than half of the sequences. Click a range to open its neuron."
_ROW, _EDGES = 18, 90
"""Pixels of a row of ranges, of the legend above and the axis below."""

MAP = (
    "{rows}, grouped by kind, and in a kind from those that {fire} first to those that {fire} last. Click a row to "
    "open its neuron."
)
LISTED = {
    "position_kind": ("kind", ""),
    "position_strength": ("strength", ""),
    "mutual_information_corrected": ("nats", ".3f"),
    "domain_agreement": ("lowest of any domain", ".3f"),
    "frequency": ("frequency", ".2%"),
    "pole": ("pole", ""),
}
"""Columns of the list: label, and format."""

ORDERS = {
    "information": ("mutual_information_corrected", True),
    "layer": ("layer", False),
    "frequency": ("frequency", True),
}
"""What the list can be in the order of: a column, and whether its largest come first."""


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Positions")
    say_unknown_model(connection)
    with st.container(horizontal=True, gap="small"):
        model = pick_model(connection, width=ALONE, is_said=True)
        corpus = pick_corpus(connection, [model.name], width=300)
    with Reading(connection, [model.name], corpus) as reader:
        _show(reader, model)


def _show(reader: Reading, model: KnownModel) -> None:
    data = data_of(reader, "positional_of_model", {"model": model.name, "n": MOST_LISTED})
    if data.frame.is_empty():
        _say_why(reader, model.name)
        return
    kinds = data_of_query(reader, "kinds_by_layer", _KINDS_BY_LAYER, {"model": model.name})
    # In a file that others wrote one may be there without the other.
    if kinds.frame.is_empty():
        _say_why(reader, model.name)
        return
    on = f"on {sequences(data.frame)} full-length sequences of {spoken_corpus(data.frame.get_column('corpus')[0])}"
    least = thresholds("neurons")["positional_information"]
    n_found = int(kinds.frame.get_column("n_neurons").sum())
    headline = positions_headline(kinds.frame, model.n_layers, model.n_layers * model.d_ffn)
    st.markdown(
        plain(f"{headline} Positional: {_firing(model)} carries more than {least:g} nats about the position, {on}.")
    )
    _map(reader, model, data.frame.head(MOST_ROWS), n_found)
    teams = data_of_query(reader, "teams", _TEAMS, {"model": model.name})
    left, right = (st.container(), st.container()) if teams.frame.is_empty() else st.columns(2, gap="medium")
    with left:
        show_figure(
            "Kinds by layer",
            lambda theme: position_map.kinds_by_layer(kinds.frame, KINDS[theme], model.n_layers),
            f"Positional neurons of each kind, pale where weak, {on}.",
            kinds,
            source="Figure 8 of Voita et al. 2023; the kinds are this project's.",
            own_legend=True,
        )
    with right:
        _teams(reader, model.name, teams)
    listed = "All positional neurons" if n_found == data.frame.height else f"The {data.frame.height:,} most informative"
    st.header(listed, anchor=False)
    _list(reader, model, data.frame)


def _list(reader: Reading, model: KnownModel, neurons: pl.DataFrame) -> None:
    """The neurons one by one, with what each promotes."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        default = asked_among("order", ORDERS, is_silent=True) or "information"
        order = st.segmented_control(
            "In the order of",
            list(ORDERS),
            default=default,
            key=own_key("order"),
            format_func=str.capitalize,
            required=True,
        )
        muted = pick_muted([model.name])[model.name]
    remember(order=None if order == "information" else order)
    column, is_falling = ORDERS[order]
    ordered = neurons.sort(column, descending=is_falling, nulls_last=True, maintain_order=True)
    rows = with_promoted_at_pole(reader, model, ordered)
    st.html(rows_html(rows, LISTED, muted))
    if caption := muted_caption(rows, muted):
        st.caption(caption)


def _say_why(reader: Reading, model: str) -> None:
    """Say why no positional neuron is known."""
    measured = data_of_query(reader, "positions_of_model", _POSITIONS_OF_MODEL, {"model": model}).frame.to_dicts()
    if not measured:
        what = "Positions have not been measured for this model yet."
        missing(reader.shown_connection, what, [model], jobs=("positions",), corpus=reader.corpus)
        show_preview("position")
        return
    (row,) = measured
    if row["why_not"] is None:
        seen = f"{row['n_sequences']:,} full-length sequences of {spoken_corpus(row['corpus'])}"
        st.info(plain(f"No neuron of {model} is positional on {seen}."))
    else:
        least = thresholds("neurons")["least_sequences"]
        held = (
            f"{spoken_corpus(row['corpus'])} has {row['n_sequences']:,} full-length sequences, {least:.0f} are needed"
        )
        st.info(plain(f"The positional neurons of {model} cannot be determined: {held}."))
        _say_how(reader, model)
        show_preview("position")


def _say_how(reader: Reading, model: str) -> None:
    """Show how to measure positions on the same text in shorter sequences, of which it has enough."""
    (corpus,) = [one for one in measured_corpora(reader.connection(), [model]) if one.is_shown]
    length = shorter_length(corpus.n_tokens, thresholds("neurons")["least_sequences"])
    if not _SHORTEST <= length < corpus.sequence_length:
        return
    (recipe,) = corpus_recipes(reader.connection(), [corpus.corpus_id])
    with st.container(gap="xsmall"):
        st.caption("In shorter sequences the same text has enough. This command measures positions there:")
        show_command(ingest_words([model], ["positions"], {**recipe, "sequence_length": length}))


_SHORTEST = 16
"""Positions of a sequence: of fewer none is a place of its own."""

_FILLED = 0.75
"""Share of a text that lies in full-length sequences, at least: the last sequence of joined documents is shorter."""


def shorter_length(n_tokens: int, least_sequences: float) -> int:
    """The longest power of two of which a text has enough full-length sequences; 0: none.

    Args:
        n_tokens: counted positions of the text.
        least_sequences: how many are needed.
    """
    most = int(_FILLED * n_tokens / least_sequences)
    return 1 << (most.bit_length() - 1) if most else 0


def _firing(model: KnownModel) -> str:
    """What is counted by position: where no activation is exactly 0, the strong ones."""
    return "firing" if model.has_exact_zeros else "strong activation at its pole"


def _map(reader: Reading, model: KnownModel, neurons: pl.DataFrame, n_found: int) -> None:
    places = {"layers": neurons.get_column("layer").to_list(), "neurons": neurons.get_column("neuron").to_list()}
    data = data_of(reader, "position_profiles", {"model": model.name, **places})
    cells = position_map.position_cells(data.frame, list(KINDS["light"]))
    n_rows = cells.get_column("address").n_unique()
    rows = f"Each of the {n_rows:,} positional neurons is a row"
    if n_rows < n_found:
        rows = f"A row is a neuron, the {n_rows:,} whose {_firing(model)} carries most information about the position"
    fire = "fire" if model.has_exact_zeros else "are strong"
    chosen = show_figure(
        f"Where in a sequence they {fire}",
        lambda theme: position_map.position_map(cells, KINDS[theme], theme, counts_strong=not model.has_exact_zeros),
        MAP.format(rows=rows, fire=fire),
        data.showing("position_profiles"),
        source="Figure 7 of Voita et al. 2023; the kinds are this project's.",
        own_legend=True,
        selects=True,
    )
    open_chosen(chosen, cells.get_column("address"))


def _teams(reader: Reading, model: str, teams: Data) -> None:
    if teams.frame.is_empty():
        st.caption("No layer has strong positional neurons that share the positions among themselves.")
        return
    positional = cached_answer(reader, positional_neurons, [model]).filter(
        pl.col("counts").is_not_null() & (pl.col("position_strength") == "strong")
    )
    layers = positional.get_column("layer").unique().sort().to_list()
    layer = st.selectbox("Team of layer", layers, key="team_layer")
    team = positional.filter(pl.col("layer") == layer)
    sql = filled(statement("positional_of_models").strip(), {"models": [model]})
    chosen = show_figure(
        f"Positions that the neurons of layer {layer} cover",
        lambda theme: position_map.clickable(positions.ranges(team, KINDS[theme])).properties(
            width="container", height=_EDGES + _ROW * team.height
        ),
        f"{team_sentence(teams.frame, layer)} {RANGES}".strip(),
        Data("team_ranges", sql, team, reader.corpus),
        source="Figure 9 of Voita et al. 2023.",
        own_legend=True,
        selects=True,
    )
    open_chosen(chosen, team.get_column("address"))
    with st.expander("All teams"):
        tables.show_table(teams.frame.drop("corpus"), key="teams")


answer(show)
