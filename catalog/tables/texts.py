"""Tables of what is measured on a text: activations, n-grams, positions, examples, coherence."""

from neurothek.catalog.tables.table import (
    BIG,
    COUNTS,
    DOUBLE,
    FLAG,
    FLOAT,
    IDS,
    INTEGER,
    SCORES,
    SMALL,
    STEPS,
    TEXT,
    Table,
)

ACTIVITY = Table(
    name="activity",
    scope="model_corpus",
    key=("layer", "neuron", "domain"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "domain": TEXT,
        "n_positions": BIG,
        "n_active": BIG,
        "n_active_bos": BIG,
        "activation_bos": DOUBLE,
        "activation_sum": DOUBLE,
        "activation_abs_sum": DOUBLE,
        "activation_square_sum": DOUBLE,
        "activation_min": FLOAT,
        "activation_max": FLOAT,
        "n_above": COUNTS,
        "first_active": BIG,
    },
    nullable=frozenset({"activation_bos", "first_active"}),
)

CONTEXTS = Table(
    name="contexts",
    scope="model_corpus",
    key=("layer", "neuron", "rank"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "rank": SMALL,
        "activation": FLOAT,
        "sequence_id": INTEGER,
        "position": INTEGER,
    },
)

CONTEXT_WINDOWS = Table(
    name="context_windows",
    scope="model_corpus",
    key=("layer", "neuron", "band", "rank"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "band": TEXT,
        "rank": SMALL,
        "sequence_id": INTEGER,
        "position": INTEGER,
        "n_before": SMALL,
        "n_after": SMALL,
        "nonzero": BIG,
        "largest": FLOAT,
        "activations": STEPS,
    },
)

ACTIVATION_HISTOGRAMS = Table(
    name="activation_histograms",
    scope="model_corpus",
    key=("layer", "neuron"),
    columns={"layer": SMALL, "neuron": INTEGER, "n_positions": BIG, "first_bin": SMALL, "counts": COUNTS},
)

POSITIONS = Table(
    name="positions",
    scope="model_corpus",
    key=("layer", "neuron", "domain"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "domain": TEXT,
        "n_sequences": BIG,
        "first_position": INTEGER,
        "mutual_information": DOUBLE,
        "mutual_information_corrected": DOUBLE,
        "n_switches": INTEGER,
        "n_on_runs": INTEGER,
        "n_off_runs": INTEGER,
        "weakest_on": DOUBLE,
        "weakest_off": DOUBLE,
        "roughness": DOUBLE,
        "counts_64": COUNTS,
        "counts": COUNTS,
    },
    # Undefined without a full-length sequence, without a run of the sort, or not kept.
    nullable=frozenset(
        {"mutual_information", "mutual_information_corrected", "weakest_on", "weakest_off", "roughness", "counts"}
    ),
)

NGRAMS = Table(
    name="ngrams",
    scope="model_corpus",
    key=("layer", "neuron", "n"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "n": SMALL,
        "n_active": BIG,
        "n_distinct": BIG,
        "n_covering_50": BIG,
        "n_covering_80": BIG,
        "n_covering_90": BIG,
        "n_covering_95": BIG,
        "n_covering_99": BIG,
    },
)

TRIGGERS = Table(
    name="triggers",
    scope="model_corpus",
    key=("layer", "neuron", "n", "rank"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "n": SMALL,
        "rank": SMALL,
        "token_ids": IDS,
        "n_active": BIG,
        "n_occurrences": BIG,
        "score": FLOAT,
        "z_score": FLOAT,
        "score_centred": FLOAT,
        "rank_from_bottom": INTEGER,
        "control_scores": SCORES,
    },
    # Scores are those of single tokens; controls are drawn for tokens that could make a detector.
    nullable=frozenset({"score", "z_score", "score_centred", "rank_from_bottom", "control_scores"}),
)

NGRAM_SPECTRUM = Table(
    name="ngram_spectrum",
    scope="model_corpus",
    key=("n", "n_occurrences"),
    columns={"n": SMALL, "n_occurrences": BIG, "n_distinct": BIG},
)

EXAMPLES = Table(
    name="examples",
    scope="model_corpus",
    key=("example_id",),
    columns={
        "example_id": INTEGER,
        "domain": TEXT,
        "tokens": IDS,
        "n_prefix_tokens": INTEGER,
        "final_token": INTEGER,
        "final_probability": DOUBLE,
        "target_token": INTEGER,
        "target_probability": DOUBLE,
        "saturation_layer": SMALL,
        "saturation_by_ffn": FLAG,
        "elimination_layer": SMALL,
        "in_event_sample": FLAG,
    },
    # A whole sentence of one id has no next one; where every rank is 1 nothing is eliminated.
    nullable=frozenset({"target_token", "target_probability", "elimination_layer"}),
)

STREAMS = Table(
    name="streams",
    scope="model_corpus",
    key=("example_id", "layer", "moment"),
    columns={
        "example_id": INTEGER,
        "layer": SMALL,
        "moment": TEXT,
        "top_token": INTEGER,
        "top_probability": DOUBLE,
        "final_token_rank": INTEGER,
        "candidate_rank": INTEGER,
        "norm": DOUBLE,
        "contribution_sum": DOUBLE,
        "dominant_share": DOUBLE,
        "leading_share": DOUBLE,
        "effective_neurons": DOUBLE,
    },
    # Before the FFN there are no sub-updates; where no neuron is active there are no shares.
    nullable=frozenset({"candidate_rank", "contribution_sum", "dominant_share", "leading_share", "effective_neurons"}),
)

SUB_UPDATES = Table(
    name="sub_updates",
    scope="model_corpus",
    key=("example_id", "layer", "kind", "rank"),
    columns={
        "example_id": INTEGER,
        "layer": SMALL,
        "kind": TEXT,
        "rank": SMALL,
        "neuron": INTEGER,
        "coefficient": FLOAT,
        "contribution": FLOAT,
        "share": DOUBLE,
        "score_candidate": FLOAT,
        "score_final": FLOAT,
        "score_logit_candidate": FLOAT,
        "score_logit_final": FLOAT,
    },
    nullable=frozenset({"share"}),
)

EVENTS = Table(
    name="events",
    scope="model_corpus",
    key=("example_id", "kind"),
    columns={
        "example_id": INTEGER,
        "kind": TEXT,
        "layer": SMALL,
        "token_id": INTEGER,
        "rank_before": INTEGER,
        "rank_after": INTEGER,
        "by_ffn": FLAG,
    },
)

EVENT_SAMPLES = Table(
    name="event_samples",
    scope="model_corpus",
    key=("seed",),
    columns={
        "seed": INTEGER,
        "n_sentences": BIG,
        "n_examples": BIG,
        "n_event_examples": BIG,
        "extreme_score": DOUBLE,
    },
)

_COHERENCE = {"coherence": DOUBLE, "coherence_z": DOUBLE, "coherence_percentile": DOUBLE}
_NEGATIVE = {f"negative_{name}": kind for name, kind in _COHERENCE.items()}

COHERENCES = Table(
    name="coherences",
    scope="model_corpus",
    key=("layer", "neuron"),
    columns={"layer": SMALL, "neuron": INTEGER, **_COHERENCE, **_NEGATIVE},
    # Too few tokens come often enough, the random vectors do not differ, or no coefficient is far below 0.
    nullable=frozenset({*_COHERENCE, *_NEGATIVE}),
)

CONTROL_COHERENCES = Table(
    name="control_coherences",
    scope="model_corpus",
    key=("layer", "kind", "control_id"),
    part="kind",
    columns={"layer": SMALL, "kind": TEXT, "control_id": INTEGER, **_COHERENCE},
    nullable=frozenset(_COHERENCE),
)
