"""How frames look on a page: labels, units and alignment of the columns that pages show."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl
import streamlit as st

from catalog.cells import TOKEN_COLUMNS
from catalog.visible import visible, visible_list

_MOST_ROWS_WHOLE = 15
"""A longer table scrolls."""


def show_table(frame: pl.DataFrame, *, key: str) -> None:
    """Draw a table that one reads and sorts."""
    height: Literal["auto", "content"] = "content" if frame.height <= _MOST_ROWS_WHOLE else "auto"
    st.dataframe(frame, column_config=columns(), hide_index=True, key=key, height=height)


def link_to_neurons(neurons: pl.DataFrame, shown_columns: Sequence[str], *, key: str, height: int) -> None:
    """Draw a table of neurons, of which a click on any row opens the neuron's page.

    Args:
        neurons: rows with an address.
        shown_columns: the columns to draw.
        key: a name of its own on the page.
        height: of a table too long to be drawn whole, in pixels.
    """
    picked = st.dataframe(
        shown(neurons.select(shown_columns)),
        column_config=columns(),
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        height="content" if neurons.height <= _MOST_ROWS_WHOLE else height,
    )
    st.caption("Click a row to open its neuron, the name of a column to sort by it.")
    place = chosen_row(picked.selection)
    # A choice may be older than the rows it was made among.
    if place is not None and place < neurons.height:
        address = neurons.get_column("address")[place]
        st.switch_page("views/neuron.py", query_params={"neuron": address})


def chosen_row(selection: Mapping[str, Any]) -> int | None:
    """The row of a table that a person clicked, in its box or anywhere; None if none."""
    if selection["rows"]:
        return int(selection["rows"][0])
    cells = selection.get("cells") or []
    return int(cells[0][0]) if cells else None


def shown(frame: pl.DataFrame, *, keep: tuple[str, ...] = ()) -> pl.DataFrame:
    """The frame without columns that are all unknown (except `keep`), its tokens with their white space marked."""
    known = [name for name in frame.columns if name in keep or frame.get_column(name).null_count() < frame.height]
    return frame.select(_marked(name, frame.schema[name]) for name in known)


def _marked(name: str, dtype: pl.DataType) -> pl.Expr:
    if name not in TOKEN_COLUMNS and name != "shared_tokens":
        return pl.col(name)
    if isinstance(dtype, pl.List):
        return pl.col(name).map_elements(visible_list, return_dtype=pl.String)
    return pl.col(name).map_elements(visible, return_dtype=pl.String) if dtype == pl.String else pl.col(name)


def columns() -> dict[str, Any]:
    """Label, unit and meaning of every column that a page's table may hold."""
    number = st.column_config.NumberColumn
    text = st.column_config.TextColumn
    never = "Never active on the tokens seen."
    return {
        "model": text("model", pinned=True),
        "size": number("size", format="compact", help="Parameters without embeddings."),
        "n_layers": number("layers"),
        "n_neurons": number("neurons", format="localized"),
        "n_tokens_seen": number("tokens seen", format="localized", help="Positions at which the neurons were watched."),
        "n_dead": number("dead", format="localized", help=never),
        "dead_share": number("dead, share", format="percent", help=never),
        "first_half_dead_share": number("in the first half", format="percent", help=never),
        "provably_dead_share": number("provably dead", format="percent", help="No input can activate them."),
        "never_active_share": number("never active", format="percent", help=never),
        "never_active": st.column_config.CheckboxColumn("never active", help=never),
        "is_dead": st.column_config.CheckboxColumn("dead", help=never),
        "mean_frequency": number("mean frequency", format="percent", help="Of the neurons that fired."),
        "median_frequency": number("median frequency", format="percent", help="Of the neurons that fired."),
        "median_kurtosis": number("median kurtosis", format="%.2f", help="How far the neurons' lists stick out."),
        "n_detectors": number("token detectors", format="localized"),
        "observed": number("suppress them", format="percent", help="Share with a negative mean score of their tokens."),
        "observed_low": number("from", format="percent", help="Lower end of the Wilson 95% interval."),
        "observed_high": number("to", format="percent", help="Upper end of the Wilson 95% interval."),
        "expected": number("expected", format="percent", help="Share of equally frequent tokens."),
        "difference": number("difference", format="percent"),
        "tokens_per_parameter": number("tokens/param", format="%.1f", help="Training tokens over parameters."),
        "corpus": text("corpus"),
        "comparable": st.column_config.CheckboxColumn("comparable", help="Measured as most of these models were."),
        "address": text("neuron", pinned=True),
        "frequency": number("frequency", format="%.4f", help="Share of the tokens seen at which it was active."),
        "n_words": number("words", help="How many of the words it lists."),
        "z_sum": number("z-score", format="%.2f", help="Sum over the words of the best z-score."),
        "z_score": number("z-score", format="%.2f"),
        "score": number("score", format="%.3f"),
        "matched": text("tokens found"),
        "matched_sides": text("sides"),
        "rank": number("rank", format="%d"),
        "rank_from_bottom": number("from the bottom", format="localized"),
        "strength": number("strength", format="%.3f", help="Harmonic mean of recall and share, summed over the words."),
        "overlap": number("overlap", format="%.3f", help="Weight of the tokens that both hold, over all: 1 if equal."),
        "n_promoted": number("both promote", format="localized"),
        "n_suppressed": number("both suppress", format="localized"),
        "token_status": text("detector"),
        "neighbours": text("other tokens of its list", width="large"),
        "top_tokens": text("promotes", width="large"),
        "mean_activation": number("mean activation", format="%.4f"),
        "activation_max": number("largest", format="%.3f"),
        "n_active": number("active at", format="localized"),
        "first_active": number("first active after", format="localized", help="Tokens before it first fired."),
        "cosine": number("cosine", format="%.3f", help="Of the two value vectors."),
        "null_99": number("random", format="%.3f", help="Overlap that 99% of random vectors do not exceed."),
        "is_mutual": st.column_config.CheckboxColumn("mutual", help="Each of the two is the other's first."),
        "centre_cosine": number(
            "to the centre", format="%.3f", help="Cosine with the sum of the cluster's directions."
        ),
        "layer": number("layer", format="%d"),
        "n_positional": number("positional", format="localized"),
        "n_sequences": number("sequences", format="localized", help="Full-length sequences behind it."),
        "saturated_share": number("settled here", format="percent", help="Examples whose prediction settles there."),
        "position_kind": text("kind"),
        "position_strength": text("strength"),
        "mutual_information_corrected": number("nats", format="%.3f", help="Less the bias of chance."),
        "domain_agreement": number("least of a domain", format="%.3f", help="In nats."),
        "covered_share": number("covered", format="percent", help="Of the positions."),
        "n_ranges": number("ranges", format="localized"),
        "n_positions": number("positions", format="localized"),
        "n_covered_once": number("covered once", format="localized"),
        "n_redundant": number("redundant", format="localized", help="Others cover all that they cover."),
        "team": text("team"),
        "cluster_id": number("cluster", format="%d"),
        "cohesion": number("cohesion", format="%.3f", help="Mean cosine of its pairs of value vectors."),
        "shared_tokens": text("shared tokens", width="large"),
        "top_share": number("share", format="percent", help="Of its neurons that list the most common token."),
        "first_layer": number("from layer", format="%d"),
        "last_layer": number("to layer", format="%d"),
        "coefficient": number("coefficient", format="%.3f"),
        "share": number("share of the update", format="percent"),
        "score_final": number("to the prediction", format="%.3f", help="What it adds to the raw score."),
        "score_candidate": number("to the candidate", format="%.3f", help="The token at the top before the FFN."),
        "token": text("token"),
        "n_pushes": number("pushes", format="localized", help="Examples in which it pushed the token."),
        "n_saturations": number("of", format="localized", help="Examples in which any FFN did."),
        "push_share": number("share", format="percent"),
        "mean_score": number("mean score", format="%.3f"),
        "mean_coefficient": number("mean coefficient", format="%.3f"),
        "mean_share": number("share of the update", format="percent"),
        "event": text("event"),
        "kind": text("kind"),
        "n_events": number("events", format="localized"),
        **{
            f"mean_{what}{unit}": number(f"{said}{', logit' if unit else ''}", format="%.3f")
            for what, said in (("max", "largest"), ("mean", "mean"), ("min", "smallest"), ("abs", "absolute"))
            for unit in ("", "_logit")
        },
        "annotator": text("annotator"),
        "other_annotator": text("and"),
        "condition": text("kind", help="value: value vectors; all: of every kind together."),
        "concept": text("concept", width="medium"),
        "class": text("class"),
        "tokens": text("tokens", width="large"),
        "n_judgements": number("judged", format="localized", help="Vectors that the annotator judged."),
        "n_with_concept": number("with a concept", format="localized"),
        "n_concepts": number("concepts", format="localized"),
        "n_vectors": number("vectors", format="localized", help="Vectors that both judged."),
        "agreement": number("agree", format="percent", help="On whether there is a concept."),
        "kappa": number("kappa", format="%.2f", help="Agreement beyond chance, at most 1."),
        "n_marked": number("marked", format="localized", help="Vectors in which at least one of them names a concept."),
        "mean_jaccard": number("tokens", format="percent", help="Mean overlap of the tokens that they mark."),
        "kurtosis": number("kurtosis", format="%.2f"),
        "value_norm": number("value norm", format="%.3f"),
        "depth": number("depth", format="%.2f"),
        "side": text("side"),
        "corpus_count": number("in corpus", format="localized"),
    }
