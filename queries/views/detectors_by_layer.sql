-- One row per model, length of n-gram and layer: how many of its neurons detect n-grams.
-- Why: Figures 3a and 14 of Voita et al. 2023: detectors sit in the lower layers, and larger models have more.
-- Of shuffled neurons none in 128 bounds chance in that layer below 2.4% (at 95%, by the rule of three), and a neuron of
-- fewer than 100 activations can never be labelled.
-- From: store.ngrams, detected_ngrams and corpus_ngrams. Source: Voita et al. 2023, section 4 and appendix.
-- Kinds of rows: n.
-- key: model, n, layer
-- kept: ngrams
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   n: Length of the n-grams.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Neurons of the layer.
--   n_alive: Neurons that were active where a full n-gram ends.
--   status: labelled, or cannot be labelled: too few positions carry n-grams that occur often enough.
--   n_detectors: Neurons that detect; null where the length cannot be labelled.
--   detector_share: n_detectors / n_neurons.
--   n_strict: Detectors whose covering n-grams are all detected.
--   strict_share: n_strict / n_neurons.
--   n_shuffled: Neurons of the layer whose activations were shuffled over the positions of each sequence; null where they were not.
--   n_shuffled_detectors: Those of them that detect then: what chance calls a detector; null where the length cannot be labelled.
--   shuffled_share: n_shuffled_detectors / n_shuffled.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(100 as bigint) as min_activations,
        cast(5 as bigint) as most_tokens,
        cast(50 as bigint) as most_ngrams,
        cast(0.95 as double) as least_share,
),
layers as (
    select
        ngrams.set_id as model_id,
        ngrams.corpus_id,
        ngrams.n,
        ngrams.layer,
        count(*) as n_neurons,
        count(nullif(ngrams.n_active, 0)) as n_alive,
    from store.ngrams as ngrams
    group by ngrams.set_id, ngrams.corpus_id, ngrams.n, ngrams.layer
),
shuffled as (
    -- The recall and the occurrences of a detector are in the stored counts.
    select
        measured.set_id as model_id,
        measured.corpus_id,
        measured.n,
        measured.layer,
        count(*) as n_shuffled,
        count(
            case
                when measured.n_active >= thresholds.min_activations
                    and measured.n_covering_95
                    <= case when measured.n = 1 then thresholds.most_tokens else thresholds.most_ngrams end
                    and cast(measured.detected_active as double) / measured.n_active >= thresholds.least_share
                    then 1
            end
        ) as n_detectors,
    from store.shuffled_ngrams as measured
    cross join thresholds
    group by measured.set_id, measured.corpus_id, measured.n, measured.layer
),
detectors as (
    select
        model_id,
        n,
        layer,
        count(distinct neuron) as n_detectors,
        count(distinct case when is_strict then neuron end) as n_strict,
    from detected_ngrams
    group by model_id, n, layer
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    layers.n,
    layers.layer,
    (cast(layers.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    layers.n_neurons,
    layers.n_alive,
    case when corpus_ngrams.can_be_labelled then 'labelled' else 'cannot be labelled' end as status,
    case when corpus_ngrams.can_be_labelled then coalesce(detectors.n_detectors, 0) end as n_detectors,
    case
        when corpus_ngrams.can_be_labelled
            then cast(coalesce(detectors.n_detectors, 0) as double) / layers.n_neurons
    end as detector_share,
    case when corpus_ngrams.can_be_labelled then coalesce(detectors.n_strict, 0) end as n_strict,
    case
        when corpus_ngrams.can_be_labelled then cast(coalesce(detectors.n_strict, 0) as double) / layers.n_neurons
    end as strict_share,
    shuffled.n_shuffled,
    case when corpus_ngrams.can_be_labelled then shuffled.n_detectors end as n_shuffled_detectors,
    case
        when corpus_ngrams.can_be_labelled then cast(shuffled.n_detectors as double) / shuffled.n_shuffled
    end as shuffled_share,
    corpus_ngrams.corpus,
from layers
inner join corpus_ngrams
    on corpus_ngrams.model_id = layers.model_id
    and corpus_ngrams.corpus_id = layers.corpus_id
    and corpus_ngrams.n = layers.n
inner join store.models as models on models.model_id = layers.model_id
left join detectors
    on detectors.model_id = layers.model_id and detectors.n = layers.n and detectors.layer = layers.layer
left join shuffled
    on
        shuffled.model_id = layers.model_id
        and shuffled.corpus_id = layers.corpus_id
        and shuffled.n = layers.n
        and shuffled.layer = layers.layer
