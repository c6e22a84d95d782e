-- One row per model and layer: the largest number that goes into the FFN's second matrix and that comes out of it, and the weight
-- that joins both.
-- Why: a few numbers of the stream are thousands of times the others, mostly at the first position; one neuron writes them, often
-- by a single weight, without which the model fails (super weights). Norms, frequencies and means are read with them in mind.
-- From: store.massive_activations, which the job massive fills, on the shown corpus. Source: Sun et al. 2024 (massive activations),
-- Yu et al. 2024 (super weights); what is called so here is this project's.
-- key: model, layer
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   input_largest: The coefficient m that is farthest from 0.
--   input_neuron: The neuron whose it is.
--   address: Address of that neuron, e.g. opt-125m/L3N1702.
--   input_ratio: Its size over the mean size of all coefficients of the layer.
--   input_token: The token at its place.
--   input_position: Position in the sequence, 0-based, a prepended BOS included.
--   output_largest: The coordinate of what the FFN adds that is farthest from 0.
--   output_channel: Which coordinate of the stream it is, 0-based.
--   output_ratio: Its size over the mean size of all that the FFN adds.
--   output_token: The token at its place.
--   output_position: Position in the sequence, likewise.
--   is_massive: output_ratio is at least 1000.
--   weight: The coordinate output_channel of that neuron's value vector.
--   weight_share: What this weight adds at the output's place, over the output there.
--   is_super_weight: is_massive, and weight_share is at least 0.5.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(1000 as double) as massive_ratio,
        cast(0.5 as double) as half,
),
measured as (
    select
        massive.*,
        abs(cast(massive.input_largest as double)) / nullif(massive.input_mean, 0) as input_ratio,
        abs(cast(massive.output_largest as double)) / nullif(massive.output_mean, 0) as output_ratio,
        list_extract(inputs.tokens, massive.input_position + 1) as input_token_id,
        list_extract(outputs.tokens, massive.output_position + 1) as output_token_id,
    from store.massive_activations as massive
    left join store.sequences as inputs
        on inputs.corpus_id = massive.corpus_id and inputs.sequence_id = massive.input_sequence_id
    left join store.sequences as outputs
        on outputs.corpus_id = massive.corpus_id and outputs.sequence_id = massive.output_sequence_id
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    measured.layer,
    (cast(measured.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    measured.input_largest,
    measured.input_neuron,
    models.name || '/L' || measured.layer || 'N' || measured.input_neuron as address,
    measured.input_ratio,
    input_tokens.text as input_token,
    measured.input_position,
    measured.output_largest,
    measured.output_channel,
    measured.output_ratio,
    output_tokens.text as output_token,
    measured.output_position,
    coalesce(measured.output_ratio >= thresholds.massive_ratio, false) as is_massive,
    measured.weight,
    measured.weight_share,
    coalesce(measured.output_ratio >= thresholds.massive_ratio and measured.weight_share >= thresholds.half, false)
        as is_super_weight,
    measured_corpora.corpus,
from measured
cross join thresholds
inner join store.models as models on models.model_id = measured.model_id
inner join measured_corpora
    on measured_corpora.model_id = measured.model_id and measured_corpora.corpus_id = measured.corpus_id
left join store.tokens as input_tokens
    on input_tokens.tokenizer_id = models.tokenizer_id and input_tokens.token_id = measured.input_token_id
left join store.tokens as output_tokens
    on output_tokens.tokenizer_id = models.tokenizer_id and output_tokens.token_id = measured.output_token_id
where measured_corpora.is_shown
