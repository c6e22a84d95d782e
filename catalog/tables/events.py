"""Tables of what the job `events` measures: how predictions are built at the ends of examples."""

import polars as pl

from neurothek.catalog.tables.table import (
    BIG,
    CORPUS,
    DOUBLE,
    FLAG,
    FLOAT,
    IDS,
    INTEGER,
    LAYER,
    MODEL,
    NEURON,
    RUN,
    SET,
    SMALL,
    TEXT,
    Column,
    Table,
)

EXAMPLES = Table(
    "examples",
    "One row per model, corpus and example: a sentence cut after a random number of its ids, and what the model "
    "predicts there (Geva et al. 2022, section 5; the cut at random and the random order as their code has them; "
    "the event sample is ours).",
    scope="model_corpus",
    key=("example_id",),
    columns={
        "model_id": MODEL,
        "corpus_id": Column(INTEGER, "The corpus whose sentences they are.", is_given=True),
        "example_id": Column(INTEGER, "The example, 0-based, in a seeded random order of the sentences."),
        "domain": Column(TEXT, "Domain of its sentence."),
        "tokens": Column(IDS, "Its ids, BOS included; the last position is analysed."),
        "n_prefix_tokens": Column(INTEGER, "How many ids of the sentence it has, without a BOS."),
        "final_token": Column(INTEGER, "The token the model predicts: argmax after the last layer."),
        "final_probability": Column(DOUBLE, "Its probability."),
        "target_token": Column(
            INTEGER, "The next id of the sentence; null where the example is a whole sentence of one id.", nullable=True
        ),
        "target_probability": Column(DOUBLE, "The probability the model gives it.", nullable=True),
        "saturation_layer": Column(
            SMALL, "First layer from which on every stream after the FFN has the final token at the top."
        ),
        "saturation_by_ffn": Column(
            FLAG, "The saturation layer is not the last, and before its FFN another token was at the top (ours)."
        ),
        "elimination_layer": Column(
            SMALL,
            "The layer whose FFN pushes the token at the top down furthest; null where none is pushed down.",
            nullable=True,
        ),
        "in_event_sample": Column(
            FLAG, "Among the first 2,000 examples, whose events and random sub-updates are kept."
        ),
        "run_id": RUN,
    },
)

STREAMS = Table(
    "streams",
    "One row per model, corpus, example, layer and moment: the residual stream at the last position, read through "
    "the final norm and the unembedding.",
    scope="model_corpus",
    key=("example_id", "layer", "moment"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "example_id": Column(INTEGER, "The example."),
        "layer": LAYER,
        "moment": Column(
            TEXT, "pre: after attention, before the FFN; post: after the block, of the last one before the final norm."
        ),
        "top_token": Column(INTEGER, "Token of the largest logit, ties to the lowest id."),
        "top_probability": Column(DOUBLE, "Its probability."),
        "final_token_rank": Column(INTEGER, "Rank of the final token: 1 + the tokens with a larger logit."),
        "candidate_rank": Column(
            INTEGER,
            "Rank after the FFN of the token that was at the top before it; null before the FFN.",
            nullable=True,
        ),
        "norm": Column(DOUBLE, "L2 norm of the stream."),
        "contribution_sum": Column(
            DOUBLE,
            "Sum over the neurons of |coefficient| x value norm; null before the FFN, like what follows.",
            nullable=True,
        ),
        "dominant_share": Column(
            DOUBLE, "Share of that sum that the ten dominant neurons hold; null too where the sum is 0.", nullable=True
        ),
        "leading_share": Column(
            DOUBLE, "Share that the largest 0.24% of the neurons hold, at least one (10 of 4,096).", nullable=True
        ),
        "effective_neurons": Column(
            DOUBLE, "Square of the sum of contributions over the sum of their squares.", nullable=True
        ),
        "run_id": RUN,
    },
)

# A coefficient is a sum of products whose size shows in the largest one that the layer has there. What it is multiplied
# by rounds as well, a score like the largest one there.
_PLACE = ("example_id", "layer")
_COEFFICIENT = pl.col("coefficient").abs()
_LARGEST = _COEFFICIENT.max().over(_PLACE)


def _terms(name: str) -> pl.Expr:
    """The size of a product of the coefficient; null where that is 0, since the other factor is not known there."""
    factor = pl.when(_COEFFICIENT > 0).then(pl.col(name).abs() / _COEFFICIENT)
    return factor * _LARGEST + _COEFFICIENT * factor.max().over(_PLACE)


SUB_UPDATES = Table(
    "sub_updates",
    "One row per model, corpus, example, layer, kind and rank: what single neurons add to the stream at the last "
    "position; random kinds only for the event sample.",
    scope="set_corpus",
    key=("example_id", "layer", "kind", "rank"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "example_id": Column(INTEGER, "The example."),
        "layer": LAYER,
        "kind": Column(
            TEXT,
            "dominant: the ten largest contributions; random: ten others of the layer; random_active: ten "
            "others whose coefficient is not 0 (ours).",
        ),
        "rank": Column(
            SMALL, "Place within its kind, from 1: by contribution, ties by neuron; random ones as they were drawn."
        ),
        "neuron": NEURON,
        "coefficient": Column(FLOAT, "Its activation m after the non-linearity.", terms=_LARGEST),
        "contribution": Column(FLOAT, "|m| x L2 norm of its value vector v.", terms=_terms("contribution")),
        "share": Column(
            DOUBLE,
            "contribution over the sum of the layer; null where no neuron is active.",
            nullable=True,
            terms=_terms("share"),
        ),
        "score_candidate": Column(
            FLOAT,
            "m (e . v) for the embedding e of the token at the top before the FFN.",
            terms=_terms("score_candidate"),
        ),
        "score_final": Column(FLOAT, "m (e . v) for the embedding e of the final token.", terms=_terms("score_final")),
        "score_logit_candidate": Column(
            FLOAT,
            "The same of v through the final norm as a part of the stream before the FFN: m e . (gamma (v - "
            "mean v)) / sd(stream); score_candidate where there is no final norm.",
            terms=_terms("score_logit_candidate"),
        ),
        "score_logit_final": Column(FLOAT, "Likewise for the final token.", terms=_terms("score_logit_final")),
        "run_id": RUN,
        "multiplier": Column(
            FLOAT,
            "What v is multiplied by in what is added to the stream and in the scores, where that is not m: m over "
            "what the norm after the FFN divides its output by; null elsewhere.",
            nullable=True,
            terms=_LARGEST,
            since=30,
        ),
    },
)

EVENTS = Table(
    "events",
    "One row per model, corpus, example of the event sample and kind: where its final token came to stay at the "
    "top, and where its candidate was pushed down furthest.",
    scope="model_corpus",
    key=("example_id", "kind"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "example_id": Column(INTEGER, "The example."),
        "kind": Column(TEXT, "saturation or elimination."),
        "layer": LAYER,
        "token_id": Column(INTEGER, "The final token, or the eliminated one."),
        "rank_before": Column(INTEGER, "Its rank before the FFN of the layer."),
        "rank_after": Column(INTEGER, "Its rank after the block."),
        "by_ffn": Column(
            FLAG, "An elimination, or a saturation before the last layer whose token the FFN brought to the top."
        ),
        "run_id": RUN,
    },
)

EVENT_SAMPLES = Table(
    "event_samples",
    "One row per model and corpus: how its examples were drawn, and when a sub-update counts as extreme.",
    scope="model_corpus",
    key=("seed",),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "seed": Column(INTEGER, "Seed of everything that was drawn."),
        "n_sentences": Column(BIG, "Sentences of the corpus that have an id."),
        "n_examples": Column(BIG, "Examples among them."),
        "n_event_examples": Column(BIG, "Examples in the event sample."),
        "extreme_score": Column(
            DOUBLE,
            "99.9th percentile of |score_candidate| over the dominant sub-updates of all examples (ours): from "
            "here on a sub-update is extreme, in models other than GPT-2.",
        ),
        "run_id": RUN,
    },
)
