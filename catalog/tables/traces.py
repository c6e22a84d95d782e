"""What a model says when it is asked, handed from where it runs to where it is joined with the warehouse."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from neurothek.catalog.tables.table import DOUBLE, FLAG, FLOAT, IDS, INTEGER, SMALL, TEXT, FrameSchema

TRACE_LAYERS = FrameSchema(
    name="trace_layers",
    key=("layer",),
    columns={
        "layer": SMALL,
        "final_rank_before": INTEGER,
        "final_rank_after": INTEGER,
        "candidate_token": INTEGER,
        "candidate_rank_after": INTEGER,
        "token_rank_before": INTEGER,
        "token_rank_after": INTEGER,
        "dominant_share": DOUBLE,
        "is_saturation": FLAG,
        "is_elimination": FLAG,
    },
    # A token was not asked about; no neuron of the layer is active.
    nullable=frozenset({"token_rank_before", "token_rank_after", "dominant_share"}),
)

TRACE_TOKENS = FrameSchema(
    name="trace_tokens",
    key=("layer", "moment", "rank"),
    columns={
        "layer": SMALL,
        "moment": TEXT,
        "rank": SMALL,
        "token_id": INTEGER,
        "probability": DOUBLE,
    },
)

TRACE_NEURONS = FrameSchema(
    name="trace_neurons",
    key=("layer", "rank"),
    columns={
        "layer": SMALL,
        "rank": SMALL,
        "neuron": INTEGER,
        "coefficient": FLOAT,
        "contribution": FLOAT,
        "share": DOUBLE,
        "score_candidate": FLOAT,
        "score_final": FLOAT,
        "score_token": FLOAT,
        "centred_candidate": FLOAT,
        "centred_final": FLOAT,
        "centred_token": FLOAT,
        "rank_candidate": INTEGER,
        "rank_final": INTEGER,
        "rank_token": INTEGER,
        "direct_final": FLOAT,
        "direct_token": FLOAT,
    },
    # A neuron whose coefficient is 0 writes nothing, in which no token has a rank; a token was not asked about.
    nullable=frozenset(
        {"share", "score_token", "centred_token", "rank_candidate", "rank_final", "rank_token", "direct_token"}
    ),
)

TRACE_RAISING = FrameSchema(
    name="trace_raising",
    key=("rank",),
    columns={
        "rank": INTEGER,
        "layer": SMALL,
        "neuron": INTEGER,
        "coefficient": FLOAT,
        "contribution": FLOAT,
        "share": DOUBLE,
        "score": FLOAT,
        "centred": FLOAT,
        "token_rank": INTEGER,
        "probability_off": DOUBLE,
        "logit_off": DOUBLE,
        "direct": FLOAT,
    },
    # What switching a neuron off does was not asked.
    nullable=frozenset({"probability_off", "logit_off"}),
)

RaisingOrder = Literal["centred", "score", "share", "direct"]
"""What the neurons that raise a token are sorted by: centred score, raw score, share of their layer's update, or what
they add to its logit through the final norm."""

TRACE_STATES = FrameSchema(
    name="trace_states",
    key=("state", "method"),
    columns={
        "state": SMALL,
        "method": TEXT,
        "final_rank": INTEGER,
        "token_rank": INTEGER,
        "token_ids": IDS,
        "probabilities": pl.List(DOUBLE),
    },
    # A token was not asked about.
    nullable=frozenset({"token_rank"}),
)


TRACE_ATTRIBUTIONS = FrameSchema(
    name="trace_attributions",
    key=("rank",),
    columns={
        "rank": INTEGER,
        "layer": SMALL,
        "neuron": INTEGER,
        "coefficient": FLOAT,
        "direct": DOUBLE,
        "relevance": DOUBLE,
        "ablated": DOUBLE,
    },
    # What switching a neuron off does was not asked.
    nullable=frozenset({"ablated"}),
)

AttributionOrder = Literal["relevance", "direct"]
"""What neurons are sorted by, the largest size first: their effect by gradients, or what they add themselves."""

TRACE_CELLS = FrameSchema(
    name="trace_cells",
    key=("layer", "position"),
    columns={
        "layer": SMALL,
        "position": INTEGER,
        "token_ids": IDS,
        "probabilities": pl.List(DOUBLE),
        "token_before": INTEGER,
        "final_rank": INTEGER,
    },
    # Streams before an FFN are read as they are, or not at all.
    nullable=frozenset({"token_before"}),
)

TRACE_CELL_NEURONS = FrameSchema(
    name="trace_cell_neurons",
    key=("layer", "position", "rank"),
    columns={
        "layer": SMALL,
        "position": INTEGER,
        "rank": SMALL,
        "neuron": INTEGER,
        "coefficient": FLOAT,
        "share": DOUBLE,
        "centred_final": FLOAT,
        "direct_final": FLOAT,
    },
    # No neuron of the layer is active.
    nullable=frozenset({"share"}),
)

SWITCH_NEURONS = FrameSchema(
    name="switch_neurons",
    key=("neuron",),
    columns={
        "neuron": INTEGER,
        "is_random": FLAG,
        "coefficient": FLOAT,
        "kl": DOUBLE,
        "token_id": INTEGER,
        "probability": DOUBLE,
    },
)

SWITCH_TOKENS = FrameSchema(
    name="switch_tokens",
    key=("neuron", "rank"),
    columns={
        "neuron": INTEGER,
        "rank": SMALL,
        "token_id": INTEGER,
        "probability_before": DOUBLE,
        "probability_after": DOUBLE,
    },
)

SWITCH_SETS = FrameSchema(
    name="switch_sets",
    key=("place",),
    columns={
        "place": INTEGER,
        "kind": TEXT,
        "layer": SMALL,
        "neuron": INTEGER,
        "coefficient": FLOAT,
        "kl": DOUBLE,
        "token_id": INTEGER,
        "probability": DOUBLE,
        "probability_of_token": DOUBLE,
    },
    # Of a set.
    nullable=frozenset({"layer", "neuron", "coefficient"}),
)

SWITCH_TEXTS = FrameSchema(
    name="switch_texts",
    key=("kind",),
    columns={"kind": TEXT, "text": TEXT, "n_tokens": INTEGER},
)
"""What a model writes after a prompt: `untouched`, `changed`, and `random`, with others of median divergence."""


@dataclass(frozen=True)
class Traced:
    """One position of one prompt, layer by layer."""

    tokens: tuple[str, ...]  # texts of the prompt's tokens, a prepended BOS included
    position: int  # the position looked at, 0-based
    final_token: int  # the token the model predicts there
    final_probability: float  # its probability
    saturation_layer: int  # first layer from which on it stays at the top
    saturation_by_ffn: bool  # that is not the last layer, and another token was at the top before its FFN
    elimination_layer: int | None  # the layer whose FFN pushes its candidate down furthest; None where none is
    layers: pl.DataFrame  # rows of TRACE_LAYERS
    top_tokens: pl.DataFrame  # rows of TRACE_TOKENS
    # rows of TRACE_NEURONS: the ten dominant neurons of every layer. Scores are m (e . v); centred ones are less their
    # mean over the vocabulary; ranks are those of a token among all tokens by m (e . v), from 1.
    neurons: pl.DataFrame
    states: pl.DataFrame  # rows of TRACE_STATES; none where there were no matrices to read through
    raised_token: int  # the token that was asked about, else the one that the model predicts
    raised_probability: float  # its probability
    raised_logit: float  # its logit
    # rows of TRACE_RAISING: the neurons of all layers that raise it, whose centred scores are above 0;
    # `probability_off` and `logit_off` are its own with that neuron set to 0 at every position
    raising: pl.DataFrame


@dataclass(frozen=True)
class Attributed:
    """What neurons add to the logit of one token less that of another at one position of a prompt."""

    tokens: tuple[str, ...]  # texts of the prompt's tokens, a prepended BOS included
    position: int  # the position after which the next token is read, 0-based
    final_token: int  # the token that the model predicts there
    toward: int  # the token that was asked about, else the predicted one
    instead: int | None  # the token whose logit is taken off; None: the mean over the vocabulary is
    difference: float  # the logit of `toward` less that of `instead`, or less the mean
    direct_total: float  # what all neurons add to it themselves, at the position
    # rows of TRACE_ATTRIBUTIONS: `direct`, what a neuron adds to the difference at the position, through the final norm
    # alone; `relevance`, its activations at all positions times the gradient of the difference, by the rules of RelP;
    # `ablated`, what the difference loses with that neuron set to 0 at every position; the first rows have it
    neurons: pl.DataFrame
    # correlations of `direct` and of `relevance` with `ablated`, over the neurons that have it; None of fewer than 3
    correlation_direct: float | None
    correlation_relevance: float | None


@dataclass(frozen=True)
class TracedGrid:
    """What a model predicts after each layer at each position of a prompt."""

    tokens: tuple[str, ...]  # texts of the prompt's tokens, a prepended BOS included
    first: int  # the first position that was read, 0-based; those before it were only looked back at
    # rows of TRACE_CELLS: `token_ids` and `probabilities`, what is predicted after the block, the likeliest first;
    # `token_before`, the first one before its FFN; `final_rank`, the rank of the token that the whole model predicts at
    # the position
    cells: pl.DataFrame
    # rows of TRACE_CELL_NEURONS: the largest contributions of each cell's layer at its position, their shares of the
    # sum over the layer, and what they add to the score of the token that the whole model predicts there, less its
    # mean over the vocabulary; none where none were asked for
    neurons: pl.DataFrame


@dataclass(frozen=True)
class PromptActivations:
    """One neuron's activation on each token of a prompt."""

    tokens: tuple[str, ...]  # texts of the prompt's tokens, a prepended BOS included
    layer: int  # the neuron's layer
    neuron: int  # its place in the layer
    activations: tuple[float, ...]  # its coefficient at each position


@dataclass(frozen=True)
class Switched:
    """What becomes of the next token when one neuron is set to a value at every position, and when others are."""

    tokens: tuple[str, ...]  # texts of the prompt's tokens, a prepended BOS included
    position: int  # the position after which the next token is read, 0-based
    layer: int  # the neuron's layer
    neuron: int  # its place in the layer
    value: float  # what it is set to
    is_before: bool  # whether before the non-linearity, or after it
    token: int  # the token that the untouched model predicts
    probability: float  # its probability
    n_candidates: int  # how many neurons of the layer the random ones were drawn from
    # how many of these are active somewhere on the prompt up to the position, of the last layer at it: others are drawn
    # only where these are fewer than the random ones
    n_active: int
    # percent of the random neurons whose divergence is smaller; of equal ones half counts; None of fewer than 20
    percentile: float | None
    median_neuron: int  # the random one whose divergence is their median, of an even number the lower one
    # rows of SWITCH_NEURONS: the neuron, then the random ones by divergence, the largest first. Its columns:
    # `coefficient`, the neuron's own activation at the position; `kl`, the divergence KL(untouched || changed) of what
    # is said there, nats; `token_id`, what is predicted then.
    neurons: pl.DataFrame
    # rows of SWITCH_TOKENS: the tokens whose probability changes most, of the neuron and of the median one; tokens
    # whose probability stays what it is are none of them
    changes: pl.DataFrame
    texts: pl.DataFrame  # rows of SWITCH_TEXTS; none where no text was asked for


@dataclass(frozen=True)
class SwitchedTogether:
    """What becomes of the next token when some neurons are set to a value at every position: each alone, and all."""

    tokens: tuple[str, ...]  # texts of the prompt's tokens, a prepended BOS included
    position: int  # the position after which the next token is read, 0-based
    value: float  # what the neurons are set to
    is_before: bool  # whether before the non-linearity, or after it
    token: int  # the token that the untouched model predicts
    probability: float  # its probability
    # percent of the random sets whose divergence is smaller than that of all together; of equal ones half counts; None
    # of fewer than 20
    percentile: float | None
    # rows of SWITCH_SETS: of kind `alone` each neuron, in the order in which they were named; `together` all of them;
    # `random` sets of as many neurons of each layer, by divergence, the largest first. `probability_of_token` is that
    # of `token`; the other columns are as in SWITCH_NEURONS.
    sets: pl.DataFrame
    # the tokens whose probability changes most with all together: rows of SWITCH_TOKENS, whose neuron is 0
    changes: pl.DataFrame
    texts: pl.DataFrame  # rows of SWITCH_TEXTS, `changed` with all together; none where no text was asked for
