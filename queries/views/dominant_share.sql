-- One row per model and layer: how much of the FFN's update its largest neurons hold, averaged over the examples.
-- Why: Figure 6 of Geva et al. 2022: ten of thousands of neurons hold so much of the update that they are worth looking
-- at, where ten random ones hold next to nothing. From: store.streams, store.sub_updates, measured_corpora. Source: Geva et al. 2022, appendix A.3: the contribution of a neuron is
-- |coefficient| x value norm. The share of the same fraction of neurons and the effective number, which compare
-- widths, are ours: ten neurons are 4% of 256 and 1% of 1,024.
-- key: model, layer
-- kept: streams
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   d_ffn: Neurons of the layer.
--   n_examples: Examples with an active neuron there.
--   dominant_share: Mean share of the ten dominant neurons.
--   leading_share: Mean share of the largest 0.24% of the neurons, at least one: ten of 4,096.
--   effective_neurons: Mean effective number: square of the sum of contributions over the sum of their squares.
--   effective_share: effective_neurons / d_ffn, which compares layers of any width.
--   random_share: Mean summed share of ten random other neurons, over the examples of the event sample with an active neuron there; null where there are none.
--   n_random_examples: These examples.
--   corpus: The shown corpus.
--   dominant_share_later: dominant_share without the examples read at position 0 of their text, where many models have massive activations.
--   leading_share_later: leading_share, likewise.
--   effective_neurons_later: effective_neurons, likewise.
--   n_first_position: Examples read at position 0, with an active neuron there.
with averaged as (
    select
        streams.model_id,
        measured_corpora.corpus,
        streams.layer,
        count(streams.dominant_share) as n_examples,
        avg(streams.dominant_share) as dominant_share,
        avg(streams.leading_share) as leading_share,
        avg(streams.effective_neurons) as effective_neurons,
        avg(case when array_length(examples.tokens) > 1 then streams.dominant_share end) as dominant_share_later,
        avg(case when array_length(examples.tokens) > 1 then streams.leading_share end) as leading_share_later,
        avg(case when array_length(examples.tokens) > 1 then streams.effective_neurons end) as effective_neurons_later,
        count(case when array_length(examples.tokens) = 1 then streams.dominant_share end) as n_first_position,
    from store.streams as streams
    inner join store.examples as examples
        on examples.model_id = streams.model_id
        and examples.corpus_id = streams.corpus_id
        and examples.example_id = streams.example_id
    inner join measured_corpora
        on measured_corpora.model_id = streams.model_id and measured_corpora.corpus_id = streams.corpus_id
    where measured_corpora.is_shown and streams.moment = 'post'
    group by streams.model_id, measured_corpora.corpus, streams.layer
),
random_sums as (
    select
        sub_updates.set_id as model_id,
        sub_updates.layer,
        sub_updates.example_id,
        sum(sub_updates.share) as random_share,
    from store.sub_updates as sub_updates
    inner join measured_corpora
        on measured_corpora.model_id = sub_updates.set_id and measured_corpora.corpus_id = sub_updates.corpus_id
    where measured_corpora.is_shown and sub_updates.kind = 'random' and sub_updates.share is not null
    group by sub_updates.set_id, sub_updates.layer, sub_updates.example_id
),
at_random as (
    select
        model_id,
        layer,
        count(*) as n_random_examples,
        avg(random_share) as random_share,
    from random_sums
    group by model_id, layer
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    averaged.layer,
    (averaged.layer + cast(0.5 as double)) / models.n_layers as depth,
    models.d_ffn,
    averaged.n_examples,
    averaged.dominant_share,
    averaged.leading_share,
    averaged.effective_neurons,
    averaged.effective_neurons / models.d_ffn as effective_share,
    at_random.random_share,
    coalesce(at_random.n_random_examples, 0) as n_random_examples,
    averaged.corpus,
    averaged.dominant_share_later,
    averaged.leading_share_later,
    averaged.effective_neurons_later,
    averaged.n_first_position,
from averaged
inner join store.models as models on models.model_id = averaged.model_id
left join at_random on at_random.model_id = averaged.model_id and at_random.layer = averaged.layer
