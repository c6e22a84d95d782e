-- A shortcut leads from a state to a higher one; every method has all pairs, fitted and judged on the run's sentences.
with sentences as (
    select
        run_id,
        count(*) filter (not is_validation) as n_fit,
        count(*) filter (is_validation) as n_validation,
        min(sentence_id) as first_sentence,
        max(sentence_id) + 1 as n_sentences
    from store.shortcut_sentences
    group by run_id
),
pairs as (
    select model_id, corpus_id, run_id, method, count(*) as n_pairs
    from store.shortcuts
    group by model_id, corpus_id, run_id, method
)
select 'model ' || shortcuts.model_id || ', ' || method || ' ' || source_state || ' to ' || target_state as place
from store.shortcuts as shortcuts
inner join store.models as models on models.model_id = shortcuts.model_id
left join sentences on sentences.run_id = shortcuts.run_id
where
    not 0 <= source_state
    or source_state >= target_state
    or target_state > models.n_layers
    or r2 > 1
    or (method = 'id') <> (rank is null)
    or rank not between 0 and models.d_model
    or condition < 1
    or shortcuts.n_fit is distinct from sentences.n_fit
    or shortcuts.n_validation is distinct from sentences.n_validation
    or sentences.first_sentence <> 0
    or sentences.n_sentences <> sentences.n_fit + sentences.n_validation
union all
select 'model ' || pairs.model_id || ', ' || method as place
from pairs
inner join store.models as models on models.model_id = pairs.model_id
where n_pairs <> models.n_layers * (models.n_layers + 1) // 2
union all
select 'model ' || maps.model_id || ', matrix ' || maps.source_state || ' to ' || maps.target_state as place
from store.shortcut_maps as maps
left join store.shortcuts as shortcuts
    on
        shortcuts.run_id = maps.run_id
        and shortcuts.method = 'mat'
        and shortcuts.source_state = maps.source_state
        and shortcuts.target_state = maps.target_state
where shortcuts.run_id is null
union all
select 'model ' || shortcuts.model_id || ', no matrix from state ' || shortcuts.source_state as place
from store.shortcuts as shortcuts
inner join store.models as models on models.model_id = shortcuts.model_id
left join store.shortcut_maps as maps
    on
        maps.run_id = shortcuts.run_id
        and maps.source_state = shortcuts.source_state
        and maps.target_state = shortcuts.target_state
where shortcuts.method = 'mat' and shortcuts.target_state = models.n_layers and maps.run_id is null
