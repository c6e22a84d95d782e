-- One row per model and corpus it was measured on.
-- Why: the other views show one corpus for each model, and this one names it, with the reason: the pinned one; else, of
-- those on which activity was measured, the one with most tokens; else the newest. From: store.runs, store.pins and
-- store.corpora. Source: this project.
-- Kinds of rows: is_shown.
-- key: model, corpus_id
-- kept: runs
-- columns:
--   model: Name of the model.
--   corpus: Name of the corpus.
--   model_id: Number of the model in this file.
--   corpus_id: Number of the corpus in this file.
--   is_shown: Whether the other views show this corpus for the model.
--   is_pinned: Whether a person chose it with `neurothek pin`.
--   n_tokens: Counted positions of the corpus.
--   n_sequences: Number of its sequences.
--   sequence_length: Longest sequence, in ids, BOS included.
--   text_sha256: sha256 of the untokenized documents: equal where two tokenizers saw the same text.
--   activation_rule: When a coefficient m counted as active in the activity run; null before there is one.
--   counting_rule: When n-grams, detectors and positions counted an activation, both where these differ; null before these jobs.
--   dtype: Number format the model computed in during the activity run; null before there is one.
with measured as (
    select distinct
        model_id,
        corpus_id,
    from store.runs
    where corpus_id is not null
),
activity_runs as (
    select
        model_id,
        corpus_id,
        max(dtype) as dtype,
        max(json_extract_string(parameters, '$.activation_rule')) as activation_rule,
        count(*) as n_runs,
    from store.runs
    where job = 'activity'
    group by model_id, corpus_id
),
counting_runs as (
    select
        runs.model_id,
        runs.corpus_id,
        min(coalesce(json_extract_string(runs.parameters, '$.activation_rule'), models.activation_rule)) as first_rule,
        max(coalesce(json_extract_string(runs.parameters, '$.activation_rule'), models.activation_rule)) as last_rule,
    from store.runs as runs
    inner join store.models as models on models.model_id = runs.model_id
    where runs.job in ('ngrams', 'positions')
    group by runs.model_id, runs.corpus_id
),
ranked as (
    select
        measured.model_id,
        measured.corpus_id,
        pins.corpus_id is not null as is_pinned,
        row_number() over (
            partition by measured.model_id
            order by
                case when pins.corpus_id is null then 1 else 0 end,
                case when activity_runs.n_runs is null then 1 else 0 end,
                corpora.n_tokens desc,
                corpora.corpus_id desc
        ) as place,
    from measured
    inner join store.corpora as corpora on corpora.corpus_id = measured.corpus_id
    left join store.pins as pins
        on pins.model_id = measured.model_id and pins.corpus_id = measured.corpus_id
    left join activity_runs
        on activity_runs.model_id = measured.model_id and activity_runs.corpus_id = measured.corpus_id
)
select
    models.name as model,
    corpora.name as corpus,
    ranked.model_id,
    ranked.corpus_id,
    ranked.place = 1 as is_shown,
    ranked.is_pinned,
    corpora.n_tokens,
    corpora.n_sequences,
    corpora.sequence_length,
    corpora.text_sha256,
    case
        when activity_runs.n_runs is not null then coalesce(activity_runs.activation_rule, models.activation_rule)
    end as activation_rule,
    case
        when counting_runs.first_rule = counting_runs.last_rule then counting_runs.first_rule
        else counting_runs.first_rule || ', ' || counting_runs.last_rule
    end as counting_rule,
    activity_runs.dtype,
from ranked
inner join store.models as models on models.model_id = ranked.model_id
inner join store.corpora as corpora on corpora.corpus_id = ranked.corpus_id
left join activity_runs
    on activity_runs.model_id = ranked.model_id and activity_runs.corpus_id = ranked.corpus_id
left join counting_runs
    on counting_runs.model_id = ranked.model_id and counting_runs.corpus_id = ranked.corpus_id
