"""What runs and facts refer to: models, tokenizers, corpora and the runs themselves."""

from neurothek.catalog.tables.table import BIG, FLAG, IDS, INTEGER, SMALL, TEXT, TIME, Table

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
        "has_parallel_residual": FLAG,
        "settings": TEXT,
        "size": BIG,
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
        "tokenizer_identity": TEXT,
    },
    nullable=frozenset({"tokenizer_identity"}),
)
