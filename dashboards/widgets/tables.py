"""How frames look on a page: as tables that one reads and sorts, or that lead to neurons."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import visible, visible_list
from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.catalog.terminal.cells import MISSING, SHARES, TOKENS
from neurothek.dashboards.addresses import script_of
from neurothek.queries.names.models import KnownModel

Frequency = Literal["frequency", "gate open", "of the tokens"]
"""What the shares of the tokens seen are called: of a gated model that of the open gates, or of one sign."""

GATE_OPEN: Frequency = "gate open"

_FREQUENCIES: Mapping[Frequency, str] = {
    "gate open": "Share of the tokens seen at which its gate was open, however small its activation.",
    "of the tokens": "Share of the tokens seen that it is of.",
}

_MOST_ROWS_WHOLE = 15
"""A longer table scrolls."""

_ROW, _EDGES = 31, 3
"""Pixels of a row, of the names above as well, at the size of letters that the server asks for."""


def show_table(frame: pl.DataFrame, *, key: str, frequency: Frequency = "frequency") -> None:
    """Draw a table that one reads and sorts; `frequency` is what its column of that name is called."""
    st.dataframe(
        with_percents(with_words(frame)),
        column_config=columns(frequency),
        hide_index=True,
        key=key,
        height=whole_height(frame) or "auto",
        placeholder=MISSING,
    )


def link_to_neurons(
    neurons: pl.DataFrame,
    shown_columns: Sequence[str],
    *,
    key: str,
    height: int,
    frequency: Frequency = "frequency",
) -> None:
    """Draw a table of neurons, of which a click on any row opens the neuron's page.

    Its addresses look like links; in the dashboard's shell they lead to the neuron, too.

    Args:
        neurons: rows with an address.
        shown_columns: the columns to draw.
        key: a name of its own on the page.
        height: of a table too long to be drawn whole, in pixels.
        frequency: what the column of that name is called.
    """
    picked = st.dataframe(
        with_percents(with_words(readable_columns(neurons.select(shown_columns)))),
        column_config=columns(frequency),
        hide_index=True,
        placeholder=MISSING,
        key=table_key(key, neurons.get_column("address")),
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        height=whole_height(neurons) or height,
    )
    st.caption("Click a row to open its neuron, the name of a column to sort by it.")
    place = chosen_row(picked.selection)
    # A choice may be older than the rows it was made among.
    if place is not None and place < neurons.height:
        address = neurons.get_column("address")[place]
        # Streamlit writes the new parameters into this page's address before it leaves: without those that are there
        # the browser's way back would lead to this page as if nothing had been asked.
        st.switch_page(script_of("neuron"), query_params={**st.query_params.to_dict(), "neuron": address})


def table_key(key: str, addresses: Iterable[str]) -> str:
    """A name that a table of neurons has for these rows alone.

    What was chosen among other rows is not chosen among them: two neurons that are each other's nearest would lead to
    one another without end. And the first click on rows that took the place of others would not count.
    """
    return f"{key}-{zlib.crc32(chr(10).join(addresses).encode())}"


def whole_height(frame: pl.DataFrame) -> int | None:
    """Pixels of the whole table, which the page keeps free before it is drawn; None for one that scrolls."""
    return _ROW * (frame.height + 1) + _EDGES if frame.height <= _MOST_ROWS_WHOLE else None


def chosen_row(selection: Mapping[str, Any]) -> int | None:
    """The row of a table that a person clicked, in its box or anywhere; None if none."""
    if selection["rows"]:
        return int(selection["rows"][0])
    cells = selection.get("cells") or []
    return int(cells[0][0]) if cells else None


def readable_columns(frame: pl.DataFrame, *, keep: tuple[str, ...] = ()) -> pl.DataFrame:
    """The frame without columns that say nothing in any row (but for `keep`), tokens with their white space marked."""
    names = [name for name in frame.columns if name in keep or not _is_empty(frame.get_column(name))]
    return frame.select(marked(name, frame.schema[name]) for name in names)


def _is_empty(column: pl.Series) -> bool:
    n_empty = int((column == "").sum()) if column.dtype == pl.String else 0
    return column.null_count() + n_empty == len(column)


def with_words(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with yes or no for what is true or not: boxes would look as if they could be ticked."""
    return frame.with_columns(
        pl.when(column).then(pl.lit("yes")).when(~column).then(pl.lit("no")).alias(name)
        for name, dtype in frame.schema.items()
        if dtype == pl.Boolean
        for column in (pl.col(name),)
    )


def with_percents(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its shares in percent, under names that say so."""
    share_names = shares()
    return frame.select(
        (100 * pl.col(name)).alias(in_percent(name)) if name in share_names else pl.col(name) for name in frame.columns
    )


def plain_numbers(frame: pl.DataFrame) -> dict[str, Any]:
    """How columns of any query's answer are shown: fractions to six digits, however small they are."""
    return {
        name: st.column_config.NumberColumn(format="%.6g") for name, dtype in frame.schema.items() if dtype.is_float()
    }


def marked(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column as it is shown: that of tokens as text with their white space marked."""
    if name not in TOKENS:
        return pl.col(name)
    if isinstance(dtype, pl.List):
        return pl.col(name).map_elements(visible_list, return_dtype=pl.String)
    return pl.col(name).map_elements(visible, return_dtype=pl.String) if dtype == pl.String else pl.col(name)


_number = st.column_config.NumberColumn
_text = st.column_config.TextColumn
_link = st.column_config.LinkColumn

_IN_PERCENT = "%.2f%%"
"""As many digits in every row: Streamlit's own format drops zeros at the end."""

_NEVER = "Never active on the tokens seen."
_NEGLIGIBLE = "Never 1% of the output of its FFN."
_EFFECTIVE = (
    "(Σ|m|)² / (N Σm²), which asks no threshold: 64% where activations are normally distributed, 1/N where one token "
    "alone has any."
)


def columns(frequency: Frequency = "frequency") -> dict[str, Any]:
    """Label, unit and meaning of every column that a page's table may hold; shares go by their names in percent.

    Args:
        frequency: what the shares of the tokens are called that the rows have: a gate may be open without end.
    """
    of_these = {} if frequency == "frequency" else {"frequency": _share(frequency, _FREQUENCIES[frequency])}
    if frequency == GATE_OPEN:
        of_these["n_active"] = _number("gate open at", format="localized")
    everything = _columns() | of_these
    return {in_percent(name) if name in SHARES else name: column for name, column in everything.items()}


def frequency_of(model: KnownModel) -> Frequency:
    """What a model's frequencies are called in tables."""
    return GATE_OPEN if model.is_signed else "frequency"


@cache
def shares() -> frozenset[str]:
    """Names of the columns that hold shares and are shown in percent."""
    return SHARES & _columns().keys()


def in_percent(name: str) -> str:
    """The name of a share's column once its numbers are in percent: who copies the table is told so."""
    return f"{name}_percent"


def _columns() -> dict[str, Any]:
    parts = (
        _of_models,
        _of_neurons,
        _of_layers,
        _of_poles,
        _of_clusters,
        _of_events,
        _of_exits,
        _of_interventions,
        _of_annotations,
        _of_explanations,
    )
    return {name: column for part in parts for name, column in part().items()}


def _share(label: str, more: str | None = None) -> Any:  # noqa: ANN401 - what Streamlit calls a column is no class
    return _number(label, format=_IN_PERCENT, help=more)


def _of_models() -> dict[str, Any]:
    return {
        "model": _text("model", pinned=True),
        "size": _number("size without embeddings", format="compact", help="Parameters other than those of embeddings."),
        "n_layers": _number("layers"),
        "n_neurons": _number("neurons", format="localized"),
        "n_tokens_seen": _number(
            "tokens seen", format="localized", help="Positions at which the neurons were measured."
        ),
        "n_dead": _number("dead", format="localized", help=_NEVER),
        "dead_share": _share("dead, share", _NEVER),
        "first_half_dead_share": _share("in the first half", _NEVER),
        "provably_dead_share": _share("provably dead", "No input can activate them."),
        "never_active_share": _share("never active", _NEVER),
        "n_negligible": _number("negligible", format="localized", help=_NEGLIGIBLE),
        "negligible_share": _share("negligible, share", _NEGLIGIBLE),
        "is_negligible": _text("negligible", help=_NEGLIGIBLE),
        "median_effective_frequency": _share(
            "effective frequency", f"Half of the neurons have at most this: {_EFFECTIVE}"
        ),
        "never_active": _text("never active", help=_NEVER),
        "is_dead": _text("dead", help=_NEVER),
        "fires_only_at_bos": _text("at BOS only", help="Active only at the prepended BOS, which is not counted."),
        "mean_frequency": _share("mean frequency", "Of the neurons that fired."),
        "median_frequency": _share("median frequency", "Of the neurons that fired."),
        "median_kurtosis": _number(
            "median kurtosis", format="%.2f", help="How far a neuron's highest scores stand out."
        ),
        "n_detectors": _number("token detectors", format="localized"),
        "observed": _share("suppress their tokens", "Share whose tokens have a negative mean score."),
        "observed_low": _share("from", "Lower end of the Wilson 95% interval."),
        "observed_high": _share("to", "Upper end of the Wilson 95% interval."),
        "expected": _share("expected", "The same for equally frequent tokens."),
        "difference": _share("difference"),
        "tokens_per_parameter": _number("tokens/param", format="%.1f", help="Training tokens over parameters."),
        "corpus": _text("corpus"),
        "comparable": _text("comparable", help="Measured in the same way as most of these models."),
    }


def _of_neurons() -> dict[str, Any]:
    return {
        "address": _link("neuron", pinned=True),
        "frequency": _share(
            "frequency",
            "Share of the tokens seen at which it was active; in a gated model, at which its gate was open.",
        ),
        "effective_frequency": _share("effective frequency", _EFFECTIVE),
        "contribution_max": _share("largest contribution", "Largest share of the output of its FFN."),
        "n_words": _number("words", help="How many of the words it lists."),
        "z_sum": _number("score", format="%.2f", help="Sum over the words of the best z-score."),
        "z_score": _number("z-score", format="%.2f"),
        "score": _number("score", format="%.3f"),
        "matched": _text("tokens found"),
        "matched_sides": _text("sides"),
        "rank": _number("rank", format="%d"),
        "rank_from_bottom": _number("from the bottom", format="localized"),
        "strength": _number(
            "strength", format="%.3f", help="Harmonic mean of recall and share, summed over the words."
        ),
        "overlap": _number("overlap", format="%.3f", help="Weight of the tokens in both lists, over all: 1 if equal."),
        "n_promoted": _number("both promote", format="localized"),
        "n_suppressed": _number("both suppress", format="localized"),
        "token_status": _text("detector"),
        "neighbours": _text("other tokens of its list", width="large"),
        "top_tokens": _text(
            "promotes", width="large", help="At activations above 0; where a pole is named, at that pole."
        ),
        "mean_activation": _number("mean activation", format="%.4f"),
        "activation_min": _number("smallest", format="%.3f"),
        "activation_max": _number("largest", format="%.3f"),
        "n_active": _number("active at", format="localized"),
        "first_active": _number(
            "first active after",
            format="localized",
            help="Tokens read before it first fired, or its gate first opened.",
        ),
        "cosine": _number("cosine", format="%.3f", help="Of the two value vectors."),
        "null_99": _number("random", format="%.3f", help="Overlap that 99% of random vectors do not exceed."),
        "is_mutual": _text("mutual", help="Each is the other's best match."),
        "centre_cosine": _number(
            "to the centre", format="%.3f", help="Cosine with the sum of the cluster's directions."
        ),
        "kurtosis": _number("kurtosis", format="%.2f"),
        "value_norm": _number("value norm", format="%.3f"),
        "depth": _number("depth", format="%.2f"),
        "side": _text("side"),
        "corpus_count": _number("in corpus", format="localized"),
    }


def _of_layers() -> dict[str, Any]:
    return {
        "layer": _number("layer", format="%d"),
        "n_positional": _number("positional", format="localized"),
        "n_sequences": _number("sequences", format="localized", help="Full-length sequences behind it."),
        "saturated_share": _share("settled here", "Examples whose prediction settles in this layer."),
        "position_kind": _text("kind"),
        "position_strength": _text("strength"),
        "mutual_information_corrected": _number("nats", format="%.3f", help="Corrected for the bias of chance."),
        "domain_agreement": _number("lowest of any domain", format="%.3f", help="In nats."),
        "covered_share": _share("covered", "Of the positions."),
        "n_ranges": _number("ranges", format="localized"),
        "n_positions": _number("positions", format="localized"),
        "n_covered_once": _number("covered once", format="localized"),
        "n_redundant": _number("redundant", format="localized", help="Others cover all their positions."),
        "team": _text("team"),
    }


def _of_poles() -> dict[str, Any]:
    return {
        "pole": _text("sign"),
        "promotes": _text("promotes", width="medium"),
        "abs_share": _share("of the activation", "Share of the sum of |m|."),
        "strong_frequency": _share("strong", "Share of the tokens with |m| above three root mean squares."),
        "mean_magnitude": _number("mean |m|", format="%.3f"),
        "largest": _number("largest |m|", format="%.3f"),
        "gate_case": _text("gate and up", help="Signs of the gate and of up; their product is that of the activation."),
    }


def _of_clusters() -> dict[str, Any]:
    return {
        "cluster_id": _number("cluster", format="%d"),
        "cluster_size": _number("neurons", format="localized", help="Neurons in the cluster."),
        "cohesion": _number("cohesion", format="%.3f", help="Mean cosine of its pairs of value vectors."),
        "shared_tokens": _text("shared tokens", width="medium"),
        "top_share": _share("share", "Share of its neurons that list its most common token."),
        "first_layer": _number("from layer", format="%d"),
        "last_layer": _number("to layer", format="%d"),
    }


def _of_events() -> dict[str, Any]:
    return {
        "coefficient": _number("coefficient", format="%.3f"),
        "share": _share("share of the update"),
        "score_final": _number("to the prediction, raw", format="%.3f", help="Contribution to the raw score."),
        "direct": _number(
            "adds",
            format="%+.3f",
            help="To the logit at this position, through the final norm, whose divisor is held; less the mean over all "
            "tokens. Layers above are left out.",
        ),
        "centred": _number(
            "score",
            format="%+.3f",
            help="Contribution to the token's score, less the mean over all tokens; before the final norm: no logit.",
        ),
        "token_rank": _number("rank", format="localized", help="Of the token in what the neuron writes."),
        "probability_off": _share("if off", "The token's probability with that neuron set to 0."),
        "change_off": _share("change", "Of the token's probability, in percentage points."),
        "logit_off": _number("logit if off", format="%.3f"),
        "writes": _text("writes", width="large"),
        "score_candidate": _number("to the candidate", format="%.3f", help="The token at the top before the FFN."),
        "token": _text("token"),
        "n_pushes": _number("pushes", format="localized", help="Examples in which it pushed the token."),
        "n_saturations": _number("of", format="localized", help="Examples in which any FFN pushed it."),
        "push_share": _share("share"),
        "base_share": _share("of all examples", "Share of all examples in which it is dominant in its layer."),
        "push_gain": _share("difference", "The share minus that of all examples."),
        "mean_score": _number("mean raw score", format="%.3f"),
        "mean_centred": _number(
            "mean score", format="%.3f", help="Less the mean over all tokens, which changes no prediction."
        ),
        "mean_coefficient": _number("mean coefficient", format="%.3f"),
        "mean_share": _share("share of the update"),
        "event": _text("event"),
        "kind": _text("kind"),
        "n_events": _number("events", format="localized"),
        **{
            f"mean_{what}{unit}": _number(f"{adjective}{unit.replace('_', ', ')}", format="%.3f")
            for what, adjective in (("max", "largest"), ("mean", "mean"), ("min", "smallest"), ("abs", "absolute"))
            for unit in ("", "_centred", "_logit")
        },
    }


def _of_exits() -> dict[str, Any]:
    return {
        "method": _text("rule"),
        "accuracy": _share("correct", "Examples whose prediction at the exit is the model's own."),
        "accuracy_sd": _share("its sd", "Standard deviation over the splits."),
        "layers_saved": _number("layers saved", format="%.3f", help="Mean number of layers that did not run."),
        "layers_saved_sd": _number("its sd", format="%.3f", help="Standard deviation over the splits."),
        "layers_saved_correct": _number("saved where correct", format="%.3f", help="Over the correct examples only."),
        "exited_share": _share("left early", "Before the last layer."),
        "exited_accuracy": _share("correct if left early", "Share of the examples left early."),
        "n_clusters_asked": _number("clusters", format="localized", help="Number of clusters asked for."),
        "n_seeds": _number("splits", format="localized", help="Splits of the examples into training and test."),
        "n": _number("examples", format="localized", help="Tested, over all splits."),
    }


def _of_interventions() -> dict[str, Any]:
    beside = "Random neurons, or sets of the same size, changed in the same way."
    return {
        "intervention": _text("intervention", width="large"),
        "effect": _number("effect", format="%+.4f", help="Increase of the loss, nats per token."),
        "percentile": _number(
            "percentile",
            format="%.0f",
            help=f"Percent of the random sets whose effect is smaller, of {LEAST_SETS} or more.",
        ),
        "effect_on_loss": _number(
            "effect", format="%+.5f", help="Increase of the loss when it is turned off, nats per token."
        ),
        "effect_percentile": _number(
            "percentile",
            format="%.0f",
            help=f"Percent of the random neurons whose effect is smaller, of {LEAST_SETS} or more.",
        ),
        "random_effect": _number("random, mean", format="%+.5f", help=beside),
        "random_effect_least": _number("random, least", format="%+.5f", help=beside),
        "random_effect_most": _number("random, most", format="%+.5f", help=beside),
        "kl": _number("KL", format="%.5f", help="Of the next token, untouched and changed, nats."),
    }


def _of_annotations() -> dict[str, Any]:
    return {
        "annotator": _text("annotator"),
        "other_annotator": _text("and"),
        "condition": _text("kind", help="Value: value vectors; all: of every kind together."),
        "concept": _text("concept", width="medium"),
        "class": _text("class"),
        "tokens": _text("tokens", width="large"),
        "n_judgements": _number("judged", format="localized", help="Vectors that the annotator judged."),
        "n_with_concept": _number("with a concept", format="localized"),
        "n_concepts": _number("concepts", format="localized"),
        "n_vectors": _number("vectors", format="localized", help="Vectors that both judged."),
        "agreement": _share("agree", "On whether there is a concept."),
        "kappa": _number("kappa", format="%.2f", help="Agreement beyond chance, at most 1."),
        "n_marked": _number(
            "marked", format="localized", help="Vectors in which at least one of them names a concept."
        ),
        "mean_jaccard": _share("tokens", "Mean overlap of the tokens that they mark."),
    }


def _of_explanations() -> dict[str, Any]:
    highest = "The highest of its controls: a score at or below it says nothing of the neuron."
    scores = {
        name: _number(name, format="%.2f", help=more)
        for name, more in (
            ("detection", "Balanced accuracy of which contexts fit the explanation; by chance 0.5."),
            ("fuzzing", "Balanced accuracy of which marked tokens fit the explanation; by chance 0.5."),
            ("intruder", "Share of odd contexts that were named, without the explanation; by chance 0.2."),
        )
    }
    controls = {f"{name}_control": _number("control", format="%.2f", help=highest) for name in scores}
    return {"explanation": _text("explanation", width="large"), **scores, **controls}
