-- One row per model: its shape, its size and what was measured.
-- Why: what the warehouse holds. From: store.models, store.runs and measured_corpora. Source: this project; size is the number
-- of parameters without embeddings.
-- key: model
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart, e.g. no-position, step 3000, seed 1.
--   size: Parameters without embeddings.
--   n_parameters: All parameters; tied ones count once.
--   n_layers: Number of blocks.
--   d_model: Width of the residual stream.
--   d_ffn: Feed-forward neurons per layer.
--   n_neurons: n_layers x d_ffn.
--   n_heads: Attention heads per layer.
--   vocab_size: Rows of the unembedding.
--   context_length: Longest sequence the model takes, in ids.
--   architecture: Architecture as the library of models names it.
--   activation: Non-linearity of the feed-forward layers.
--   activation_rule: When a neuron counts as active, unless a run says otherwise: m != 0, m > 0 or gate > 0.
--   has_exact_zeros: Whether a neuron that is off has coefficient 0 exactly, so that a neuron can be dead.
--   norm_position: pre: blocks normalise before each sub-layer; post: after it; both: before it and what it writes; written: only that.
--   position_encoding: learned, none or rotary.
--   has_parallel_residual: Whether attention and FFN of a block both read what enters it (GPT-NeoX).
--   settings: What config.json decides besides weights and sizes, as JSON; empty for families without any, and for a GPT-2 that an earlier release measured.
--   training_tokens: Tokens seen in training, where the checkpoint says so.
--   tokens_per_parameter: Training tokens over all parameters.
--   tokenizer: Name of the model's tokenizer.
--   corpus: The shown corpus; null before any text was measured.
--   n_tokens_seen: Counted positions of the shown corpus.
--   jobs: Names of the jobs whose numbers are published, in alphabetical order.
--   source: Hub id or folder the weights came from, as asked for.
--   revision: Revision of the hub repository, if any.
--   weights_sha256: sha256 over the sorted (file name, file sha256) of the weight files.
with jobs as (
    select
        model_id,
        list_sort(list(distinct job)) as jobs,
    from store.runs
    group by model_id
),
shown as (
    select
        model_id,
        corpus,
        n_tokens,
    from measured_corpora
    where is_shown
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    models.n_parameters,
    models.n_layers,
    models.d_model,
    models.d_ffn,
    models.n_neurons,
    models.n_heads,
    models.vocab_size,
    models.context_length,
    models.architecture,
    models.activation,
    models.activation_rule,
    models.has_exact_zeros,
    models.norm_position,
    models.position_encoding,
    models.has_parallel_residual,
    models.settings,
    models.training_tokens,
    cast(models.training_tokens as double) / nullif(models.n_parameters, 0) as tokens_per_parameter,
    tokenizers.name as tokenizer,
    shown.corpus,
    shown.n_tokens as n_tokens_seen,
    jobs.jobs,
    models.source,
    models.revision,
    models.weights_sha256,
from store.models as models
inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
left join shown on shown.model_id = models.model_id
left join jobs on jobs.model_id = models.model_id
