"""What runs and facts refer to: models, tokenizers, corpora and the runs themselves."""

from neurothek.catalog.tables.table import BIG, CORPUS, FLAG, IDS, INTEGER, MODEL, SMALL, TEXT, TIME, Column, Table

MODELS = Table(
    "models",
    "One row per model: its identity and its shape.",
    scope="model",
    key=("name",),
    columns={
        "model_id": Column(INTEGER, "Number of the model in this file.", is_given=True),
        "name": Column(TEXT, "Name by which people address the model."),
        "family": Column(TEXT, "Models of one family differ in size or variant only, e.g. opt, gpt2, mini-opt."),
        "variant": Column(
            TEXT, "Null for a plain size; else what sets it apart, e.g. no-position, step 3000, seed 1.", nullable=True
        ),
        "source": Column(TEXT, "Hub id or folder the weights came from, as asked for."),
        "revision": Column(TEXT, "Revision of the hub repository, if any.", nullable=True),
        "weights_sha256": Column(TEXT, "sha256 over the sorted (file name, file sha256) of the weight files."),
        "architecture": Column(
            TEXT, "Architecture as the library of models names it, e.g. opt, gpt2, gpt_neox, llama."
        ),
        "activation": Column(
            TEXT, "Non-linearity of the feed-forward layers, e.g. relu, gelu_new; of gated ones the gate's, e.g. silu."
        ),
        "activation_rule": Column(
            TEXT,
            "When a neuron counts as active, unless a run says otherwise: m != 0, m > 0, or gate > 0 (the "
            "gate's pre-activation).",
        ),
        "has_exact_zeros": Column(
            FLAG, "Whether a neuron that is off has coefficient 0 exactly (ReLU), so that a neuron can be dead."
        ),
        "norm_position": Column(
            TEXT,
            "pre: blocks normalise before each sub-layer; post: after it; both: before it and what it writes; "
            "written: only that.",
        ),
        "position_encoding": Column(TEXT, "learned, none (an all-zero table) or rotary."),
        "n_layers": Column(SMALL, "Number of blocks."),
        "d_model": Column(INTEGER, "Width of the residual stream."),
        "d_ffn": Column(INTEGER, "Feed-forward neurons per layer."),
        "n_heads": Column(INTEGER, "Attention heads per layer."),
        "vocab_size": Column(INTEGER, "Rows of the unembedding; ids beyond the tokenizer's are masked everywhere."),
        "context_length": Column(INTEGER, "Longest sequence the model takes, in ids."),
        "n_parameters": Column(BIG, "All parameters; tied ones count once."),
        "n_parameters_embedding": Column(
            BIG, "Parameters of token and position embeddings and of an untied unembedding."
        ),
        "n_neurons": Column(BIG, "n_layers x d_ffn."),
        "training_tokens": Column(BIG, "Tokens seen in training, where the checkpoint says so.", nullable=True),
        "tokenizer_id": Column(INTEGER, "The model's tokenizer.", is_given=True),
        "has_parallel_residual": Column(
            FLAG,
            "Whether attention and FFN of a block both read what enters it (GPT-NeoX); the stream before the "
            "FFN is then taken as x + attention output.",
            default="false",
        ),
        "settings": Column(
            TEXT,
            "What else config.json decides beside weights and sizes, as JSON: rotary positions, epsilons, "
            "attention windows; empty for families without any.",
            default="''",
        ),
        "size": Column(BIG, "Parameters without embeddings: n_parameters less n_parameters_embedding.", default="0"),
    },
)

TOKENIZERS = Table(
    "tokenizers",
    "One row per vocabulary with its special ids; models with the same one share its tokens. How a text is split "
    "into them stands at each run (tokenizer_identity).",
    scope="tokenizer",
    key=("sha256",),
    columns={
        "tokenizer_id": Column(INTEGER, "Number of the tokenizer in this file.", is_given=True),
        "name": Column(TEXT, "Name of the model it was first seen with."),
        "sha256": Column(TEXT, "sha256 of its list of ids and pieces and of its special ids."),
        "vocab_size": Column(INTEGER, "Number of ids it has."),
        "bos_token_id": Column(INTEGER, "Id it puts before every text; null where it prepends none.", nullable=True),
        "eos_token_id": Column(INTEGER, "Id that separates packed documents; null where there is none.", nullable=True),
    },
)

TOKENS = Table(
    "tokens",
    "One row per tokenizer and token.",
    scope="tokenizer",
    key=("token_id",),
    columns={
        "tokenizer_id": Column(INTEGER, "The tokenizer.", is_given=True),
        "token_id": Column(INTEGER, "Id of the token, 0-based."),
        "piece": Column(TEXT, "Raw piece as the tokenizer writes it."),
        "text": Column(TEXT, "Exact text; bytes that are no whole character are written as \\xNN."),
        "word": Column(TEXT, "Text without surrounding white space, case-folded: what a search compares."),
        "is_special": Column(FLAG, "Whether the tokenizer treats it as special, e.g. </s>."),
    },
)

CORPORA = Table(
    "corpora",
    "One row per text, tokenizer, sequence length and token limit.",
    scope="corpus",
    key=("sha256",),
    columns={
        "corpus_id": Column(INTEGER, "Number of the corpus in this file.", is_given=True),
        "name": Column(TEXT, "Name of the corpus: its domains joined by +, unless named."),
        "sha256": Column(TEXT, "Fingerprint: sha256 over every sequence's domain, length and ids."),
        "text_sha256": Column(TEXT, "sha256 of the untokenized documents: equal where two tokenizers saw one text."),
        "tokenizer_id": Column(INTEGER, "Tokenizer that made the ids.", is_given=True),
        "n_tokens": Column(BIG, "Ids without prepended BOS: the counted positions."),
        "n_sequences": Column(INTEGER, "Number of sequences."),
        "sequence_length": Column(INTEGER, "Longest sequence, in ids, BOS included."),
        "recipe": Column(TEXT, "How the text was made, as JSON: sources with hashes, limits, versions."),
    },
)

SEQUENCES = Table(
    "sequences",
    "One row per sequence that was fed to models, so that contexts can be shown and counts recomputed.",
    scope="corpus",
    key=("sequence_id",),
    columns={
        "corpus_id": CORPUS,
        "sequence_id": Column(INTEGER, "Number of the sequence in its corpus, 0-based."),
        "domain": Column(TEXT, "Domain the text came from."),
        "tokens": Column(IDS, "Ids, prepended BOS included."),
        "starts_document": Column(FLAG, "Whether a document starts at the first id."),
    },
)

TOKEN_COUNTS = Table(
    "token_counts",
    "One row per corpus, domain and token that occurs at a counted position.",
    scope="corpus",
    key=("domain", "token_id"),
    columns={
        "corpus_id": CORPUS,
        "domain": Column(TEXT, "The domain."),
        "token_id": Column(INTEGER, "The token."),
        "n_occurrences": Column(BIG, "Counted positions that hold it."),
    },
)

RUNS = Table(
    "runs",
    "One row per published run: which job measured what, when, with which parameters.",
    key=("run_key",),
    columns={
        "run_id": Column(INTEGER, "Number of the run in this file.", is_given=True),
        "run_key": Column(TEXT, "sha256 of everything that changes the run's numbers."),
        "job": Column(TEXT, "Name of the job."),
        "job_version": Column(INTEGER, "Version of the job; raised when a number's meaning changes."),
        "model_id": MODEL,
        "corpus_id": Column(INTEGER, "The corpus; null for jobs that read only weights.", nullable=True, is_given=True),
        "parameters": Column(TEXT, "Parameters of the run, as JSON."),
        "dtype": Column(TEXT, "Number format the model computed in."),
        "started_at": Column(TIME, "When the first part of the run began (UTC)."),
        "finished_at": Column(TIME, "When its last part was measured (UTC)."),
        "n_rows": Column(BIG, "Rows it published."),
        "versions": Column(TEXT, "Versions of neurothek and of the libraries used, as JSON."),
        "other_model_id": Column(
            INTEGER, "The model that it was compared with; null for jobs about one model.", nullable=True, is_given=True
        ),
        "tokenizer_identity": Column(
            TEXT,
            "Everything of the tokenizer that changes which ids a text becomes, as JSON: a hash of each part. "
            "Null where an earlier release measured and nobody tokenized the text again since, and for jobs "
            "about two models.",
            nullable=True,
        ),
    },
)
