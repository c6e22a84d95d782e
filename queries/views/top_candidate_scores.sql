-- One row per model, layer and kind of sub-update: what ten neurons do to the token at the top before their FFN.
-- Why: Figure 3 of Geva et al. 2022: until the last layers scores lie around a mean that is not negative; in the last
-- ones they spread, and strongly negative minima appear. From: store.sub_updates, store.examples (the event sample only),
-- store.projections, measured_corpora. Source: Geva et al. 2022, section 5.2, whose scores are raw; random_active, the
-- centred scores and those in units of the logit are ours.
-- Kinds of rows: kind.
-- key: model, layer, kind
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   kind: dominant, random or random_active sub-updates.
--   n_examples: Examples behind the row.
--   mean_max: Mean over examples of the largest score m (e . v).
--   mean_mean: Mean over examples of the mean score.
--   mean_min: Mean over examples of the smallest score.
--   mean_max_centred: As mean_max, of scores less their mean over all tokens, which changes no prediction; null without projections.
--   mean_mean_centred: As mean_mean, likewise.
--   mean_min_centred: As mean_min, likewise.
--   median_max_centred: Median over examples instead of the mean of mean_max_centred, without those read at position 0, where many models have massive activations.
--   median_mean_centred: The same of mean_mean_centred.
--   median_min_centred: The same of mean_min_centred.
--   n_first_position: Examples read at position 0 of their text, which are in the means and not in the medians.
--   mean_max_logit: As mean_max, of the scores through the final norm, which can be compared between layers and models.
--   mean_mean_logit: As mean_mean, likewise.
--   mean_min_logit: As mean_min, likewise.
--   corpus: The shown corpus.
with scored as (
    select
        sub_updates.set_id as model_id,
        measured_corpora.corpus,
        sub_updates.layer,
        sub_updates.kind,
        sub_updates.example_id,
        array_length(examples.tokens) = 1 as is_first,
        cast(sub_updates.score_candidate as double) as score,
        cast(sub_updates.score_logit_candidate as double) as score_logit,
        cast(coalesce(sub_updates.multiplier, sub_updates.coefficient) as double) * cast(projections.score_mean as double) as common,
    from store.sub_updates as sub_updates
    inner join measured_corpora
        on measured_corpora.model_id = sub_updates.set_id and measured_corpora.corpus_id = sub_updates.corpus_id
    inner join store.examples as examples
        on examples.model_id = sub_updates.set_id
        and examples.corpus_id = sub_updates.corpus_id
        and examples.example_id = sub_updates.example_id
    left join store.projections as projections
        on projections.set_id = sub_updates.set_id
        and projections.layer = sub_updates.layer
        and projections.neuron = sub_updates.neuron
    where measured_corpora.is_shown and examples.in_event_sample
),
per_example as (
    select
        model_id,
        corpus,
        layer,
        kind,
        example_id,
        max(is_first) as is_first,
        max(score) as score_max,
        avg(score) as score_mean,
        min(score) as score_min,
        max(score - common) as centred_max,
        avg(score - common) as centred_mean,
        min(score - common) as centred_min,
        max(score_logit) as logit_max,
        avg(score_logit) as logit_mean,
        min(score_logit) as logit_min,
    from scored
    group by model_id, corpus, layer, kind, example_id
),
averaged as (
    select
        model_id,
        corpus,
        layer,
        kind,
        count(*) as n_examples,
        avg(score_max) as mean_max,
        avg(score_mean) as mean_mean,
        avg(score_min) as mean_min,
        avg(centred_max) as mean_max_centred,
        avg(centred_mean) as mean_mean_centred,
        avg(centred_min) as mean_min_centred,
        median(case when is_first then null else centred_max end) as median_max_centred,
        median(case when is_first then null else centred_mean end) as median_mean_centred,
        median(case when is_first then null else centred_min end) as median_min_centred,
        sum(case when is_first then 1 else 0 end) as n_first_position,
        avg(logit_max) as mean_max_logit,
        avg(logit_mean) as mean_mean_logit,
        avg(logit_min) as mean_min_logit,
    from per_example
    group by model_id, corpus, layer, kind
)
select
    models.name as model,
    averaged.layer,
    (averaged.layer + cast(0.5 as double)) / models.n_layers as depth,
    averaged.kind,
    averaged.n_examples,
    averaged.mean_max,
    averaged.mean_mean,
    averaged.mean_min,
    averaged.mean_max_centred,
    averaged.mean_mean_centred,
    averaged.mean_min_centred,
    averaged.median_max_centred,
    averaged.median_mean_centred,
    averaged.median_min_centred,
    cast(averaged.n_first_position as bigint) as n_first_position,
    averaged.mean_max_logit,
    averaged.mean_mean_logit,
    averaged.mean_min_logit,
    averaged.corpus,
from averaged
inner join store.models as models on models.model_id = averaged.model_id
