"""Columns of the pages' tables: label, unit and meaning of each, under one name on all pages."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import streamlit as st

from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.catalog.terminal.cells import SHARES
from neurothek.queries.names.models import KnownModel

Frequency = Literal["frequency", "gate open", "of the tokens"]
"""What the shares of the tokens seen are called: of a gated model that of the open gates, or of one sign."""

GATE_OPEN: Frequency = "gate open"

_FREQUENCIES: Mapping[Frequency, str] = {
    "gate open": "Share of the tokens seen at which its gate was open, however small its activation.",
    "of the tokens": "Share of the tokens seen that it is of.",
}

_number = st.column_config.NumberColumn
_text = st.column_config.TextColumn
_link = st.column_config.LinkColumn

ADDRESS_WITHIN_MODEL = _link("neuron", pinned=True, display_text="([^/]+)$")
"""Where all neurons of a table are of one model, which the page names: it takes half the width in every row."""

IN_PERCENT = "%.2f%%"
"""As many digits in every row: Streamlit's own format drops zeros at the end."""

_ACTIVATION = "After the non-linearity: the coefficient m of the definitions, by which the value vector is multiplied."
_OF_UPDATE = "Of what its layer's FFN adds: of the sum over the layer of |activation| times length of the value vector."

RAW = "Activation times value vector times unembedding, before the final norm."
CENTRED = f"{RAW[:-1]}, less the mean over all tokens, which changes no prediction."
Z_SCORE = "Value vector times unembedding, in standard deviations from the mean over all tokens."
"""The three scores of a token, by the names that all pages call them: raw, centred, and z."""

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
    return _number(label, format=IN_PERCENT, help=more)


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
        "z_sum": _number("z-score", format="%.2f", help=f"Of several words the sum over them of the best. {Z_SCORE}"),
        "z_score": _number("z-score", format="%.2f", help=Z_SCORE),
        "score": _number("raw score", format="%.3f", help="Value vector times unembedding."),
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
        "neighbours": _text("other tokens of its list"),
        "top_tokens": _text("promotes", help="At activations above 0; where a pole is named, at that pole."),
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
            "cosine to the centre", format="%.3f", help="Cosine with the sum of the cluster's directions."
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
        "promotes": _text("promotes"),
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
        "coefficient": _number("activation", format="%.3f", help=_ACTIVATION),
        "share": _share("share", _OF_UPDATE),
        "score_final": _number("raw score", format="%.3f", help=f"Of the token predicted in the end. {RAW}"),
        "direct": _number(
            "adds",
            format="%+.3f",
            help="To the logit at this position, through the final norm, whose divisor is held; less the mean over all "
            "tokens. Layers above are left out.",
        ),
        "centred": _number("centred score", format="%+.3f", help=CENTRED),
        "token_rank": _number("rank", format="localized", help="Of the token in what the neuron promotes."),
        "probability_off": _share("if off", "The token's probability with that neuron set to 0."),
        "change_off": _share("change", "Of the token's probability, in percentage points."),
        "logit_off": _number("logit if off", format="%.3f"),
        "writes": _text("promotes", help="At this activation: at one below 0 the bottom of its list."),
        "score_candidate": _number(
            "raw score of the candidate", format="%.3f", help=f"The token at the top before the FFN. {RAW}"
        ),
        "token": _text("token"),
        "n_pushes": _number("pushes", format="localized", help="Examples in which it pushed the token."),
        "n_saturations": _number("of", format="localized", help="Examples in which any FFN pushed it."),
        "push_share": _share("share"),
        "base_share": _share("of all examples", "Share of all examples in which it is dominant in its layer."),
        "push_gain": _share("difference", "The share minus that of all examples."),
        "mean_score": _number("mean raw score", format="%.3f", help=RAW),
        "mean_centred": _number("mean centred score", format="%.3f", help=CENTRED),
        "mean_coefficient": _number("mean activation", format="%.3f", help=_ACTIVATION),
        "mean_share": _share("mean share", _OF_UPDATE),
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
