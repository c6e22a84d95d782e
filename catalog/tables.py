"""The warehouse's tables as typed polars schemas; frames are checked against them before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

import polars as pl

from catalog.errors import NeurothekError

Scope = Literal["tokenizer", "corpus", "model", "model_corpus", "none"]

SCOPE_IDS: Mapping[Scope, tuple[str, ...]] = {
    "tokenizer": ("tokenizer_id",),
    "corpus": ("corpus_id",),
    "model": ("model_id",),
    "model_corpus": ("model_id", "corpus_id"),
    "none": (),
}


class TableMismatch(NeurothekError):
    """A frame does not fit the table it was made for."""

    def __init__(self, table: str, problem: str) -> None:
        super().__init__(
            f"rows for the table {table} {problem}; nothing was written, and this is a defect worth reporting"
        )


class NotFinite(TableMismatch):
    """A frame holds infinity, or what is no number."""

    def __init__(self, table: str, column: str) -> None:
        self.table, self.column = table, column
        super().__init__(table, f"hold a value in {column} that is not a finite number")


class JobUnknown(NeurothekError):
    """There is no such job."""

    def __init__(self, job: str) -> None:
        near = get_close_matches(job, JOB_TABLES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"the jobs are {', '.join(JOB_TABLES)}"
        super().__init__(f"there is no job {job}; {hint}")


@dataclass(frozen=True)
class Table:
    """One table of the schema `store`, as a job hands it over.

    Attributes:
        name: the table's name in the schema `store`.
        scope: which ids publishing adds in front of the columns.
        columns: column name -> polars type, without the ids of `scope` and without `run_id`.
        key: the columns that identify a row within the ids of `scope`.
        order: SQL expressions by which rows lie sorted on disk, where they are not the shards in the order of layers.
        is_fact: whether publishing appends the id of the run that measured the row.
        nullable: the columns in which null is a value ("never happened", "not defined here").
        serial: the column that a run counts from 0, and publishing from the first number that the warehouse has free.
        part: where several jobs fill it, the column that tells their rows apart: a run replaces the parts it brings.
    """

    name: str
    scope: Scope
    columns: Mapping[str, pl.DataType]
    key: tuple[str, ...]
    order: tuple[str, ...] = ()
    is_fact: bool = True
    nullable: frozenset[str] = frozenset()
    serial: str | None = None
    part: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The id columns that publishing adds."""
        return SCOPE_IDS[self.scope]

    @property
    def place(self) -> str | None:
        """The column that says which part of a model a row is of, so that parts can be measured alone."""
        return next((name for name in ("layer", "example_id") if name in self.columns), None)

    def empty(self) -> pl.DataFrame:
        """A frame without rows and with exactly the declared columns."""
        return pl.DataFrame(schema=dict(self.columns))

    def check(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` if it fits.

        Raises:
            TableMismatch: a column is missing, unexpected, of another type, null where it may not be, not a
                finite number (NotFinite), or the key is not unique.
        """
        if dict(frame.schema) != dict(self.columns):
            raise TableMismatch(self.name, f"have columns {dict(frame.schema)} instead of {dict(self.columns)}")
        for name, dtype in self.columns.items():
            column = frame.get_column(name)
            if name not in self.nullable and column.null_count():
                raise TableMismatch(self.name, f"have {column.null_count()} empty values in {name}")
            if not _all_finite(column, dtype):
                raise NotFinite(self.name, name)
        if frame.select(self.key).is_duplicated().any():
            raise TableMismatch(self.name, f"repeat a key ({', '.join(self.key)})")
        return frame


def _all_finite(column: pl.Series, dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.List) and dtype.inner in (pl.Float32(), pl.Float64()):
        column = column.explode().drop_nulls()
    elif dtype not in (pl.Float32(), pl.Float64()):
        return True
    return bool(column.drop_nulls().is_finite().all())


SMALL, INTEGER, BIG = pl.Int16(), pl.Int32(), pl.Int64()
FLOAT, DOUBLE = pl.Float32(), pl.Float64()
TEXT, FLAG, TIME = pl.String(), pl.Boolean(), pl.Datetime("us")
IDS, SCORES, COUNTS = pl.List(INTEGER), pl.List(FLOAT), pl.List(BIG)

MODELS = Table(
    name="models",
    scope="model",
    is_fact=False,
    key=("name",),
    columns={
        "name": TEXT,
        "family": TEXT,
        "variant": TEXT,
        "source": TEXT,
        "revision": TEXT,
        "weights_sha256": TEXT,
        "architecture": TEXT,
        "activation": TEXT,
        "activation_rule": TEXT,
        "has_exact_zeros": FLAG,
        "norm_position": TEXT,
        "position_encoding": TEXT,
        "n_layers": SMALL,
        "d_model": INTEGER,
        "d_ffn": INTEGER,
        "n_heads": INTEGER,
        "vocab_size": INTEGER,
        "context_length": INTEGER,
        "n_parameters": BIG,
        "n_parameters_embedding": BIG,
        "n_neurons": BIG,
        "training_tokens": BIG,
    },
    nullable=frozenset({"variant", "revision", "training_tokens"}),
)

TOKENIZERS = Table(
    name="tokenizers",
    scope="tokenizer",
    is_fact=False,
    key=("sha256",),
    columns={"name": TEXT, "sha256": TEXT, "vocab_size": INTEGER, "bos_token_id": INTEGER, "eos_token_id": INTEGER},
    nullable=frozenset({"bos_token_id", "eos_token_id"}),
)

TOKENS = Table(
    name="tokens",
    scope="tokenizer",
    is_fact=False,
    key=("token_id",),
    columns={"token_id": INTEGER, "piece": TEXT, "text": TEXT, "word": TEXT, "is_special": FLAG},
)

CORPORA = Table(
    name="corpora",
    scope="corpus",
    is_fact=False,
    key=("sha256",),
    columns={
        "name": TEXT,
        "sha256": TEXT,
        "text_sha256": TEXT,
        "n_tokens": BIG,
        "n_sequences": INTEGER,
        "sequence_length": INTEGER,
        "recipe": TEXT,
    },
)

SEQUENCES = Table(
    name="sequences",
    scope="corpus",
    is_fact=False,
    key=("sequence_id",),
    columns={"sequence_id": INTEGER, "domain": TEXT, "tokens": IDS, "starts_document": FLAG},
)

TOKEN_COUNTS = Table(
    name="token_counts",
    scope="corpus",
    is_fact=False,
    key=("domain", "token_id"),
    columns={"domain": TEXT, "token_id": INTEGER, "n_occurrences": BIG},
)

RUNS = Table(
    name="runs",
    scope="none",
    is_fact=False,
    key=("run_key",),
    columns={
        "run_key": TEXT,
        "job": TEXT,
        "job_version": INTEGER,
        "parameters": TEXT,
        "dtype": TEXT,
        "started_at": TIME,
        "finished_at": TIME,
        "n_rows": BIG,
        "versions": TEXT,
    },
)

PROJECTIONS = Table(
    name="projections",
    scope="model",
    key=("layer", "neuron"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "value_norm": DOUBLE,
        "score_mean": DOUBLE,
        "score_sd": DOUBLE,
        "score_skewness": DOUBLE,
        "score_kurtosis": DOUBLE,
        "score_negative_share": DOUBLE,
        "top_token_ids": IDS,
        "top_scores": SCORES,
        "bottom_token_ids": IDS,
        "bottom_scores": SCORES,
        "preactivation_bound": DOUBLE,
    },
    # Moments of a constant row of scores (a zero value vector) are undefined; the bound needs a norm before the FFN.
    nullable=frozenset({"score_skewness", "score_kurtosis", "preactivation_bound"}),
)

POSTINGS = Table(
    name="postings",
    scope="model",
    key=("token_id", "side", "layer", "neuron"),
    # By (token, side, rank, layer, neuron), packed into two integers: sorting five columns takes 2.5 times as long.
    order=("(token_id::bigint * 2 + (side = 'suppressed')::integer) * 128 + rank", "layer::bigint * 1048576 + neuron"),
    columns={
        "token_id": INTEGER,
        "side": TEXT,
        "layer": SMALL,
        "neuron": INTEGER,
        "rank": SMALL,
        "score": FLOAT,
        "z_score": FLOAT,
    },
)

TOKEN_NEIGHBOURS = Table(
    name="token_neighbours",
    scope="model",
    key=("token_id", "rank"),
    columns={"token_id": INTEGER, "rank": SMALL, "neighbour_id": INTEGER, "cosine": FLOAT},
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

CLUSTERINGS = Table(
    name="clusterings",
    scope="model",
    key=("clustering_id",),
    serial="clustering_id",
    columns={
        "clustering_id": INTEGER,
        "method": TEXT,
        "linkage": TEXT,
        "n_clusters_asked": INTEGER,
        "n_clusters": INTEGER,
    },
)

CLUSTERS = Table(
    name="clusters",
    scope="model",
    key=("clustering_id", "layer", "neuron"),
    serial="clustering_id",
    columns={
        "clustering_id": INTEGER,
        "layer": SMALL,
        "neuron": INTEGER,
        "cluster_id": INTEGER,
        "centre_cosine": DOUBLE,
    },
    # A vector without length has no direction.
    nullable=frozenset({"centre_cosine"}),
)

NEIGHBOURS = Table(
    name="neighbours",
    scope="model",
    key=("layer", "neuron", "rank"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "rank": SMALL,
        "other_layer": SMALL,
        "other_neuron": INTEGER,
        "cosine": FLOAT,
    },
)

CONTROLS = Table(
    name="controls",
    scope="model",
    key=("layer", "kind", "control_id"),
    part="kind",
    columns={
        "layer": SMALL,
        "kind": TEXT,
        "control_id": INTEGER,
        "value_norm": DOUBLE,
        "score_mean": DOUBLE,
        "score_sd": DOUBLE,
        "score_skewness": DOUBLE,
        "score_kurtosis": DOUBLE,
        "score_negative_share": DOUBLE,
        "top_token_ids": IDS,
        "top_scores": SCORES,
        "bottom_token_ids": IDS,
        "bottom_scores": SCORES,
    },
    nullable=frozenset({"score_skewness", "score_kurtosis"}),
)

NORM_OVERLAPS = Table(
    name="norm_overlaps",
    scope="model",
    key=("layer", "kind"),
    columns={
        "layer": SMALL,
        "kind": TEXT,
        "norm_overlap": DOUBLE,
        "norm_overlap_without_bias": DOUBLE,
        "n": BIG,
    },
    # Models without a final norm have none to compare with.
    nullable=frozenset({"norm_overlap", "norm_overlap_without_bias"}),
)

_COHERENCE = {"coherence": DOUBLE, "coherence_z": DOUBLE, "coherence_percentile": DOUBLE}

COHERENCES = Table(
    name="coherences",
    scope="model_corpus",
    key=("layer", "neuron"),
    columns={"layer": SMALL, "neuron": INTEGER, **_COHERENCE},
    # Too few tokens come often enough, or the random vectors do not differ.
    nullable=frozenset(_COHERENCE),
)

CONTROL_COHERENCES = Table(
    name="control_coherences",
    scope="model_corpus",
    key=("layer", "kind", "control_id"),
    part="kind",
    columns={"layer": SMALL, "kind": TEXT, "control_id": INTEGER, **_COHERENCE},
    nullable=frozenset(_COHERENCE),
)

FACTS: tuple[Table, ...] = (
    PROJECTIONS,
    POSTINGS,
    TOKEN_NEIGHBOURS,
    ACTIVITY,
    CONTEXTS,
    NGRAMS,
    TRIGGERS,
    NGRAM_SPECTRUM,
    POSITIONS,
    EXAMPLES,
    STREAMS,
    SUB_UPDATES,
    EVENTS,
    EVENT_SAMPLES,
    CLUSTERINGS,
    CLUSTERS,
    NEIGHBOURS,
    CONTROLS,
    NORM_OVERLAPS,
    COHERENCES,
    CONTROL_COHERENCES,
)
JOB_TABLES: Mapping[str, tuple[Table, ...]] = {
    "projections": (PROJECTIONS, POSTINGS, TOKEN_NEIGHBOURS),
    "activity": (ACTIVITY,),
    "contexts": (CONTEXTS,),
    "ngrams": (NGRAMS, TRIGGERS, NGRAM_SPECTRUM),
    "positions": (POSITIONS,),
    "events": (EXAMPLES, STREAMS, SUB_UPDATES, EVENTS, EVENT_SAMPLES),
    "clusters": (CLUSTERINGS, CLUSTERS, NEIGHBOURS),
    "controls": (CONTROLS, NORM_OVERLAPS, COHERENCES, CONTROL_COHERENCES),
}
"""The tables that each job fills."""

DIMENSIONS: tuple[Table, ...] = (MODELS, TOKENIZERS, TOKENS, CORPORA, SEQUENCES, TOKEN_COUNTS, RUNS)
BY_NAME: Mapping[str, Table] = {table.name: table for table in (*DIMENSIONS, *FACTS)}
