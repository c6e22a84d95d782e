-- One row per model, kind of event and kind of sub-update: what ten neurons do to the token the event is about.
-- Why: Table 4 of Geva et al. 2022: dominant sub-updates promote the token that saturates and do little to the one that
-- is eliminated. From: store.events, store.sub_updates, measured_corpora; only events that the FFN caused. Source:
-- Geva et al. 2022, section 5.1, per event the maximum, mean and minimum of the sub-updates' scores for the token, then
-- averaged over events. random_active and the scores in units of the logit are ours.
-- Kinds of rows: event; kind.
-- key: model, event, kind
-- columns:
--   model: Name of the model.
--   event: saturation (of the final token) or elimination (of the candidate).
--   kind: dominant, random or random_active sub-updates of the event's layer.
--   n_events: Events behind the row.
--   mean_max: Mean over events of the largest score m (e . v).
--   mean_mean: Mean over events of the mean score.
--   mean_min: Mean over events of the smallest score.
--   mean_abs: Mean over events of the mean absolute score.
--   mean_max_centred: As mean_max, of scores less their mean over all tokens, which changes no prediction; null without projections.
--   mean_mean_centred: As mean_mean, likewise.
--   mean_min_centred: As mean_min, likewise.
--   median_max_centred: Median over events instead of the mean of mean_max_centred, without those read at position 0, where many models have massive activations.
--   median_mean_centred: The same of mean_mean_centred.
--   median_min_centred: The same of mean_min_centred.
--   n_first_position: Events read at position 0 of their text, which are in the means and not in the medians.
--   mean_max_logit: As mean_max, of the scores through the final norm, which can be compared between layers and models.
--   mean_mean_logit: As mean_mean, likewise.
--   mean_min_logit: As mean_min, likewise.
--   corpus: The shown corpus.
with shown as (
    select
        events.model_id,
        events.corpus_id,
        measured_corpora.corpus,
        events.example_id,
        events.kind,
        events.layer,
        array_length(examples.tokens) = 1 as is_first,
    from store.events as events
    inner join store.examples as examples
        on examples.model_id = events.model_id
        and examples.corpus_id = events.corpus_id
        and examples.example_id = events.example_id
    inner join measured_corpora
        on measured_corpora.model_id = events.model_id and measured_corpora.corpus_id = events.corpus_id
    where measured_corpora.is_shown and events.by_ffn
),
scored as (
    select
        shown.model_id,
        shown.corpus,
        shown.example_id,
        shown.kind as event,
        shown.is_first,
        sub_updates.kind,
        cast(
            case when shown.kind = 'saturation' then sub_updates.score_final else sub_updates.score_candidate end as double
        ) as score,
        cast(
            case
                when shown.kind = 'saturation' then sub_updates.score_logit_final
                else sub_updates.score_logit_candidate
            end as double
        ) as score_logit,
        cast(coalesce(sub_updates.multiplier, sub_updates.coefficient) as double) * cast(projections.score_mean as double) as common,
    from shown
    inner join store.sub_updates as sub_updates
        on sub_updates.set_id = shown.model_id
        and sub_updates.corpus_id = shown.corpus_id
        and sub_updates.example_id = shown.example_id
        and sub_updates.layer = shown.layer
    left join store.projections as projections
        on projections.set_id = sub_updates.set_id
        and projections.layer = sub_updates.layer
        and projections.neuron = sub_updates.neuron
),
per_event as (
    select
        model_id,
        corpus,
        event,
        kind,
        example_id,
        max(is_first) as is_first,
        max(score) as score_max,
        avg(score) as score_mean,
        min(score) as score_min,
        avg(abs(score)) as score_abs,
        max(score - common) as centred_max,
        avg(score - common) as centred_mean,
        min(score - common) as centred_min,
        max(score_logit) as logit_max,
        avg(score_logit) as logit_mean,
        min(score_logit) as logit_min,
    from scored
    group by model_id, corpus, event, kind, example_id
),
averaged as (
    select
        model_id,
        corpus,
        event,
        kind,
        count(*) as n_events,
        avg(score_max) as mean_max,
        avg(score_mean) as mean_mean,
        avg(score_min) as mean_min,
        avg(score_abs) as mean_abs,
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
    from per_event
    group by model_id, corpus, event, kind
)
select
    models.name as model,
    averaged.event,
    averaged.kind,
    averaged.n_events,
    averaged.mean_max,
    averaged.mean_mean,
    averaged.mean_min,
    averaged.mean_abs,
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
