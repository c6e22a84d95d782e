-- One row per model, length of n-gram and layer: how many n-grams the layer's detectors detect, and how many are new.
-- Why: Figures 3b, 4 and 15 of Voita et al. 2023: each layer detects n-grams that the layers below did not.
-- From: detected_ngrams, store.ngrams and corpus_ngrams. Source: Voita et al. 2023, section 4 and appendix. Shares are
-- of the n-grams that occur often enough to be detected. All numbers are null where the length cannot be labelled.
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
--   n_frequent: Distinct n-grams of the corpus that occur often enough to be detected.
--   n_detected: Distinct n-grams that detectors of the layer detect.
--   detected_share: n_detected / n_frequent.
--   n_cumulative: Distinct n-grams detected in this layer or below.
--   cumulative_share: n_cumulative / n_frequent.
--   n_new: Detected here and in no layer below.
--   new_share: n_new / n_frequent.
--   n_new_vs_previous: Detected here and not in the layer just below.
--   new_vs_previous_share: n_new_vs_previous / n_frequent.
--   corpus: The shown corpus.
with detected as (
    select distinct
        model_id,
        n,
        layer,
        token_ids,
    from detected_ngrams
),
placed as (
    select
        model_id,
        n,
        layer,
        lag(layer) over (partition by model_id, n, token_ids order by layer) as layer_before,
    from detected
),
counts as (
    select
        model_id,
        n,
        layer,
        count(*) as n_detected,
        sum(case when layer_before is null then 1 else 0 end) as n_new,
        sum(case when layer_before = layer - 1 then 0 else 1 end) as n_new_vs_previous,
    from placed
    group by model_id, n, layer
),
layers as (
    select distinct
        set_id as model_id,
        corpus_id,
        n,
        layer,
    from store.ngrams
),
known as (
    select
        layers.model_id,
        layers.n,
        layers.layer,
        corpus_ngrams.model,
        corpus_ngrams.corpus,
        corpus_ngrams.n_frequent,
        case when corpus_ngrams.can_be_labelled then coalesce(counts.n_detected, 0) end as n_detected,
        case when corpus_ngrams.can_be_labelled then coalesce(counts.n_new, 0) end as n_new,
        case when corpus_ngrams.can_be_labelled then coalesce(counts.n_new_vs_previous, 0) end as n_new_vs_previous,
        sum(case when corpus_ngrams.can_be_labelled then coalesce(counts.n_new, 0) end) over (
            partition by layers.model_id, layers.n
            order by layers.layer
            rows between unbounded preceding and current row
        ) as n_cumulative,
    from layers
    inner join corpus_ngrams
        on corpus_ngrams.model_id = layers.model_id
        and corpus_ngrams.corpus_id = layers.corpus_id
        and corpus_ngrams.n = layers.n
    left join counts
        on counts.model_id = layers.model_id and counts.n = layers.n and counts.layer = layers.layer
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    known.n,
    known.layer,
    (cast(known.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    known.n_frequent,
    cast(known.n_detected as bigint) as n_detected,
    cast(known.n_detected as double) / nullif(known.n_frequent, 0) as detected_share,
    cast(known.n_cumulative as bigint) as n_cumulative,
    cast(known.n_cumulative as double) / nullif(known.n_frequent, 0) as cumulative_share,
    cast(known.n_new as bigint) as n_new,
    cast(known.n_new as double) / nullif(known.n_frequent, 0) as new_share,
    cast(known.n_new_vs_previous as bigint) as n_new_vs_previous,
    cast(known.n_new_vs_previous as double) / nullif(known.n_frequent, 0) as new_vs_previous_share,
    known.corpus,
from known
inner join store.models as models on models.model_id = known.model_id
