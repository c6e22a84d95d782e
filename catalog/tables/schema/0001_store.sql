-- The store: measurements as they were published. No primary, unique or foreign keys: they make the file seven
-- times larger and replacing rows impossible; frames are checked before staging and `neurothek check` proves the keys.
create schema store;

create table store.schema_versions (version integer not null, applied_at timestamp not null);
comment on table store.schema_versions is 'One row per migration that was applied to this file.';
comment on column store.schema_versions.version is 'Number of the migration.';
comment on column store.schema_versions.applied_at is 'When it was applied (UTC).';

create table store.installed_views (name varchar not null, sha256 varchar not null);
comment on table store.installed_views is 'One row per view installed in the schema main, to know when a newer release changes it.';
comment on column store.installed_views.name is 'Name of the view.';
comment on column store.installed_views.sha256 is 'sha256 of the SQL text that made it.';

create table store.models (
    model_id integer not null,
    name varchar not null,
    family varchar not null,
    variant varchar,
    source varchar not null,
    revision varchar,
    weights_sha256 varchar not null,
    architecture varchar not null,
    activation varchar not null,
    activation_rule varchar not null,
    has_exact_zeros boolean not null,
    norm_position varchar not null,
    position_encoding varchar not null,
    n_layers smallint not null,
    d_model integer not null,
    d_ffn integer not null,
    n_heads integer not null,
    vocab_size integer not null,
    context_length integer not null,
    n_parameters bigint not null,
    n_parameters_embedding bigint not null,
    n_neurons bigint not null,
    training_tokens bigint,
    tokenizer_id integer not null
);
comment on table store.models is 'One row per model: its identity and its shape.';
comment on column store.models.model_id is 'Number of the model in this file.';
comment on column store.models.name is 'Name by which people address the model.';
comment on column store.models.family is 'Models of one family differ in size or variant only, e.g. opt, gpt2, mini-opt.';
comment on column store.models.variant is 'Null for a plain size; else what sets it apart, e.g. no-position, step 3000, seed 1.';
comment on column store.models.source is 'Hub id or folder the weights came from, as asked for.';
comment on column store.models.revision is 'Revision of the hub repository, if any.';
comment on column store.models.weights_sha256 is 'sha256 over the sorted (file name, file sha256) of the weight files.';
comment on column store.models.architecture is 'Architecture as the library of models names it, e.g. opt, gpt2.';
comment on column store.models.activation is 'Non-linearity of the feed-forward layers, e.g. relu, gelu_new.';
comment on column store.models.activation_rule is 'When a coefficient m counts as active, unless a run says otherwise: m != 0 or m > 0.';
comment on column store.models.has_exact_zeros is 'Whether the non-linearity yields exact zeros (ReLU), so that a neuron can be dead.';
comment on column store.models.norm_position is 'pre: blocks normalise before each sub-layer; post: after it.';
comment on column store.models.position_encoding is 'learned, none (an all-zero table) or rotary.';
comment on column store.models.n_layers is 'Number of blocks.';
comment on column store.models.d_model is 'Width of the residual stream.';
comment on column store.models.d_ffn is 'Feed-forward neurons per layer.';
comment on column store.models.n_heads is 'Attention heads per layer.';
comment on column store.models.vocab_size is 'Rows of the unembedding; ids beyond the tokenizer''s are masked everywhere.';
comment on column store.models.context_length is 'Longest sequence the model takes, in ids.';
comment on column store.models.n_parameters is 'All parameters; tied ones count once.';
comment on column store.models.n_parameters_embedding is 'Parameters of token and position embeddings and of an untied unembedding.';
comment on column store.models.n_neurons is 'n_layers x d_ffn.';
comment on column store.models.training_tokens is 'Tokens seen in training, where the checkpoint says so.';
comment on column store.models.tokenizer_id is 'The model''s tokenizer.';

create table store.tokenizers (
    tokenizer_id integer not null,
    name varchar not null,
    sha256 varchar not null,
    vocab_size integer not null,
    bos_token_id integer,
    eos_token_id integer
);
comment on table store.tokenizers is 'One row per tokenizer; models with the same one share its tokens.';
comment on column store.tokenizers.tokenizer_id is 'Number of the tokenizer in this file.';
comment on column store.tokenizers.name is 'Name of the model it was first seen with.';
comment on column store.tokenizers.sha256 is 'sha256 of its list of ids and pieces and of its special ids.';
comment on column store.tokenizers.vocab_size is 'Number of ids it has.';
comment on column store.tokenizers.bos_token_id is 'Id it puts before every text; null where it prepends none.';
comment on column store.tokenizers.eos_token_id is 'Id that separates packed documents; null where there is none.';

create table store.tokens (
    tokenizer_id integer not null,
    token_id integer not null,
    piece varchar not null,
    text varchar not null,
    word varchar not null,
    is_special boolean not null
);
comment on table store.tokens is 'One row per tokenizer and token.';
comment on column store.tokens.tokenizer_id is 'The tokenizer.';
comment on column store.tokens.token_id is 'Id of the token, 0-based.';
comment on column store.tokens.piece is 'Raw piece as the tokenizer writes it.';
comment on column store.tokens.text is 'Exact text; bytes that are no whole character are written as \xNN.';
comment on column store.tokens.word is 'Text without surrounding white space, case-folded: what a search compares.';
comment on column store.tokens.is_special is 'Whether the tokenizer treats it as special, e.g. </s>.';

create table store.corpora (
    corpus_id integer not null,
    name varchar not null,
    sha256 varchar not null,
    text_sha256 varchar not null,
    tokenizer_id integer not null,
    n_tokens bigint not null,
    n_sequences integer not null,
    sequence_length integer not null,
    recipe varchar not null
);
comment on table store.corpora is 'One row per text, tokenizer, sequence length and token limit.';
comment on column store.corpora.corpus_id is 'Number of the corpus in this file.';
comment on column store.corpora.name is 'Name of the corpus: its domains joined by +, unless named.';
comment on column store.corpora.sha256 is 'Fingerprint: sha256 over every sequence''s domain, length and ids.';
comment on column store.corpora.text_sha256 is 'sha256 of the untokenized documents: equal where two tokenizers saw one text.';
comment on column store.corpora.tokenizer_id is 'Tokenizer that made the ids.';
comment on column store.corpora.n_tokens is 'Ids without prepended BOS: the counted positions.';
comment on column store.corpora.n_sequences is 'Number of sequences.';
comment on column store.corpora.sequence_length is 'Longest sequence, in ids, BOS included.';
comment on column store.corpora.recipe is 'How the text was made, as JSON: sources with hashes, limits, versions.';

create table store.sequences (
    corpus_id integer not null,
    sequence_id integer not null,
    domain varchar not null,
    tokens integer[] not null,
    starts_document boolean not null
);
comment on table store.sequences is 'One row per sequence that was fed to models, so that contexts can be shown and counts recomputed.';
comment on column store.sequences.corpus_id is 'The corpus.';
comment on column store.sequences.sequence_id is 'Number of the sequence in its corpus, 0-based.';
comment on column store.sequences.domain is 'Domain the text came from.';
comment on column store.sequences.tokens is 'Ids, prepended BOS included.';
comment on column store.sequences.starts_document is 'Whether a document starts at the first id.';

create table store.token_counts (
    corpus_id integer not null,
    domain varchar not null,
    token_id integer not null,
    n_occurrences bigint not null
);
comment on table store.token_counts is 'One row per corpus, domain and token that occurs at a counted position.';
comment on column store.token_counts.corpus_id is 'The corpus.';
comment on column store.token_counts.domain is 'The domain.';
comment on column store.token_counts.token_id is 'The token.';
comment on column store.token_counts.n_occurrences is 'Counted positions that hold it.';

create table store.runs (
    run_id integer not null,
    run_key varchar not null,
    job varchar not null,
    job_version integer not null,
    model_id integer not null,
    corpus_id integer,
    parameters varchar not null,
    dtype varchar not null,
    started_at timestamp not null,
    finished_at timestamp not null,
    n_rows bigint not null,
    versions varchar not null
);
comment on table store.runs is 'One row per published run: which job measured what, when, with which parameters.';
comment on column store.runs.run_id is 'Number of the run in this file.';
comment on column store.runs.run_key is 'sha256 of everything that changes the run''s numbers.';
comment on column store.runs.job is 'Name of the job.';
comment on column store.runs.job_version is 'Version of the job; raised when a number''s meaning changes.';
comment on column store.runs.model_id is 'The model.';
comment on column store.runs.corpus_id is 'The corpus; null for jobs that read only weights.';
comment on column store.runs.parameters is 'Parameters of the run, as JSON.';
comment on column store.runs.dtype is 'Number format the model computed in.';
comment on column store.runs.started_at is 'When the first part of the run began (UTC).';
comment on column store.runs.finished_at is 'When its last part was measured (UTC).';
comment on column store.runs.n_rows is 'Rows it published.';
comment on column store.runs.versions is 'Versions of neurothek and of the libraries used, as JSON.';

create table store.projections (
    model_id integer not null,
    layer smallint not null,
    neuron integer not null,
    value_norm double not null,
    score_mean double not null,
    score_sd double not null,
    score_skewness double,
    score_kurtosis double,
    score_negative_share double not null,
    top_token_ids integer[] not null,
    top_scores float[] not null,
    bottom_token_ids integer[] not null,
    bottom_scores float[] not null,
    preactivation_bound double,
    run_id integer not null
);
comment on table store.projections is 'One row per neuron: its value vector projected to the vocabulary (Geva et al. 2022, sections 3 and 4).';
comment on column store.projections.model_id is 'The model.';
comment on column store.projections.layer is 'Layer, 0-based.';
comment on column store.projections.neuron is 'Neuron within the layer, 0-based.';
comment on column store.projections.value_norm is 'L2 norm of the value vector.';
comment on column store.projections.score_mean is 'Mean raw score over the tokenizer''s ids.';
comment on column store.projections.score_sd is 'Standard deviation of the raw scores (population).';
comment on column store.projections.score_skewness is 'Skewness of the raw scores; null where they are all equal.';
comment on column store.projections.score_kurtosis is 'Excess kurtosis of the raw scores; null where they are all equal.';
comment on column store.projections.score_negative_share is 'Share of the tokens whose raw score is below 0.';
comment on column store.projections.top_token_ids is 'Ids of the tokens it promotes most, best first, ties by id.';
comment on column store.projections.top_scores is 'Their raw scores.';
comment on column store.projections.bottom_token_ids is 'Ids of the tokens it suppresses most, lowest first, ties by id.';
comment on column store.projections.bottom_scores is 'Their raw scores.';
comment on column store.projections.preactivation_bound is 'No input can raise the pre-activation above this; below 0 a ReLU neuron is dead on every text. Null for post-norm blocks.';
comment on column store.projections.run_id is 'Run that measured the row.';

create table store.postings (
    model_id integer not null,
    token_id integer not null,
    side varchar not null,
    layer smallint not null,
    neuron integer not null,
    rank smallint not null,
    score float not null,
    z_score float not null,
    run_id integer not null
);
comment on table store.postings is 'One row per neuron and token of its top or bottom list: the inverted lists that answer a search by token.';
comment on column store.postings.model_id is 'The model.';
comment on column store.postings.token_id is 'The token.';
comment on column store.postings.side is 'promoted or suppressed.';
comment on column store.postings.layer is 'Layer, 0-based.';
comment on column store.postings.neuron is 'Neuron within the layer, 0-based.';
comment on column store.postings.rank is 'Place of the token in the neuron''s list, 1-based.';
comment on column store.postings.score is 'Raw score of the token: unembedding row times value vector.';
comment on column store.postings.z_score is 'Score less the neuron''s mean score, over its standard deviation: comparable between neurons and models.';
comment on column store.postings.run_id is 'Run that measured the row.';

create table store.token_neighbours (
    model_id integer not null,
    token_id integer not null,
    rank smallint not null,
    neighbour_id integer not null,
    cosine float not null,
    run_id integer not null
);
comment on table store.token_neighbours is 'One row per token and near token: nearest by cosine in the model''s own unembedding.';
comment on column store.token_neighbours.model_id is 'The model.';
comment on column store.token_neighbours.token_id is 'The token.';
comment on column store.token_neighbours.rank is 'Place among its nearest, 1-based.';
comment on column store.token_neighbours.neighbour_id is 'The near token.';
comment on column store.token_neighbours.cosine is 'Cosine of their unembedding rows.';
comment on column store.token_neighbours.run_id is 'Run that measured the row.';

create table store.activity (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    domain varchar not null,
    n_positions bigint not null,
    n_active bigint not null,
    n_active_bos bigint not null,
    activation_bos double,
    activation_sum double not null,
    activation_abs_sum double not null,
    activation_square_sum double not null,
    activation_min float not null,
    activation_max float not null,
    n_above bigint[] not null,
    first_active bigint,
    run_id integer not null
);
comment on table store.activity is 'One row per neuron and domain: how it fired on the counted positions (Voita et al. 2023, section 3).';
comment on column store.activity.model_id is 'The model.';
comment on column store.activity.corpus_id is 'The corpus.';
comment on column store.activity.layer is 'Layer, 0-based.';
comment on column store.activity.neuron is 'Neuron within the layer, 0-based.';
comment on column store.activity.domain is 'Domain of the corpus; sums over domains are the whole.';
comment on column store.activity.n_positions is 'Counted positions of the domain.';
comment on column store.activity.n_active is 'Counted positions at which the neuron was active.';
comment on column store.activity.n_active_bos is 'Sequences in which it was active at the prepended BOS, which is not a counted position.';
comment on column store.activity.activation_bos is 'Its mean coefficient at the prepended BOS; null where none is prepended.';
comment on column store.activity.activation_sum is 'Sum of its coefficient m.';
comment on column store.activity.activation_abs_sum is 'Sum of |m|.';
comment on column store.activity.activation_square_sum is 'Sum of m squared.';
comment on column store.activity.activation_min is 'Smallest m.';
comment on column store.activity.activation_max is 'Largest m.';
comment on column store.activity.n_above is 'Counted positions with |m| above 0.1, 0.5, 1 and 2.';
comment on column store.activity.first_active is 'Counted positions of the domain before its first activation; null if never active.';
comment on column store.activity.run_id is 'Run that measured the row.';

create table store.contexts (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    rank smallint not null,
    activation float not null,
    sequence_id integer not null,
    position integer not null,
    run_id integer not null
);
comment on table store.contexts is 'One row per neuron and place of strongest activation, at most one a sequence.';
comment on column store.contexts.model_id is 'The model.';
comment on column store.contexts.corpus_id is 'The corpus.';
comment on column store.contexts.layer is 'Layer, 0-based.';
comment on column store.contexts.neuron is 'Neuron within the layer, 0-based.';
comment on column store.contexts.rank is 'Place by |m|, 1-based; ties by sequence, then position.';
comment on column store.contexts.activation is 'The coefficient m there, sign kept.';
comment on column store.contexts.sequence_id is 'Sequence of the corpus.';
comment on column store.contexts.position is 'Position in the sequence, 0-based.';
comment on column store.contexts.run_id is 'Run that measured the row.';

create table store.pins (model_id integer not null, corpus_id integer not null);
comment on table store.pins is 'One row per model whose shown corpus a person chose.';
comment on column store.pins.model_id is 'The model.';
comment on column store.pins.corpus_id is 'The corpus that views show for it.';

create table store.neuron_facts (
    model_id integer not null,
    layer smallint not null,
    neuron integer not null,
    corpus_id integer,
    address varchar not null,
    depth double not null,
    value_norm double,
    score_mean double,
    score_sd double,
    score_skewness double,
    score_kurtosis double,
    score_negative_share double,
    preactivation_bound double,
    top_tokens varchar[],
    bottom_tokens varchar[],
    top_token_log_frequency double,
    n_positions bigint,
    n_active bigint,
    n_active_bos bigint,
    activation_sum double,
    activation_min double,
    activation_max double,
    first_active bigint
);
comment on table store.neuron_facts is 'One flat row per neuron of the shown corpus, rebuilt by every publish and pin: what the view neurons reads.';
comment on column store.neuron_facts.model_id is 'The model.';
comment on column store.neuron_facts.layer is 'Layer, 0-based.';
comment on column store.neuron_facts.neuron is 'Neuron within the layer, 0-based.';
comment on column store.neuron_facts.corpus_id is 'The shown corpus; null before any text was measured.';
comment on column store.neuron_facts.address is 'Address of the neuron, e.g. opt-125m/L3N1702.';
comment on column store.neuron_facts.depth is '(layer + 0.5) / n_layers.';
comment on column store.neuron_facts.value_norm is 'L2 norm of the value vector.';
comment on column store.neuron_facts.score_mean is 'Mean raw score over the vocabulary.';
comment on column store.neuron_facts.score_sd is 'Standard deviation of the raw scores.';
comment on column store.neuron_facts.score_skewness is 'Skewness of the raw scores.';
comment on column store.neuron_facts.score_kurtosis is 'Excess kurtosis of the raw scores.';
comment on column store.neuron_facts.score_negative_share is 'Share of negative raw scores.';
comment on column store.neuron_facts.preactivation_bound is 'Upper bound of the pre-activation over all inputs.';
comment on column store.neuron_facts.top_tokens is 'Text of the first ten promoted tokens, best first.';
comment on column store.neuron_facts.bottom_tokens is 'Text of the first ten suppressed tokens, lowest first.';
comment on column store.neuron_facts.top_token_log_frequency is 'Mean natural logarithm of (1 + corpus count) over the listed top tokens.';
comment on column store.neuron_facts.n_positions is 'Counted positions of the shown corpus, all domains.';
comment on column store.neuron_facts.n_active is 'Of these, those at which the neuron was active.';
comment on column store.neuron_facts.n_active_bos is 'Sequences in which it was active at the prepended BOS.';
comment on column store.neuron_facts.activation_sum is 'Sum of its coefficient.';
comment on column store.neuron_facts.activation_min is 'Smallest coefficient.';
comment on column store.neuron_facts.activation_max is 'Largest coefficient.';
comment on column store.neuron_facts.first_active is 'Counted positions before its first activation, the domains taken in the corpus''s order.';
