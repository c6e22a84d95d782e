-- Every intervention has continuations of the same prompts by all methods and random sets, and each attribute was scored for all that have a text.
with written as (
    select model_id, corpus_id, intervention, method, set_number, count(*) as n_prompts,
        string_agg(prompt, chr(0) order by prompt_number) as prompts, min(prompt_number) as first_prompt, max(prompt_number) as last_prompt,
        count_if(regexp_matches(continuation, '[^ \t\n\r\x0B\x0C]')) as n_scored
    from store.continuations
    group by model_id, corpus_id, intervention, method, set_number
),
scored as (
    select model_id, corpus_id, intervention, method, set_number, scorer, attribute, count(*) as n_scored
    from store.attribute_scores
    group by model_id, corpus_id, intervention, method, set_number, scorer, attribute
),
methods as (
    select model_id, corpus_id, intervention,
        count(distinct method) as n_methods,
        count_if(method = 'random') as n_random,
        max(case when method = 'random' then set_number end) as last_set,
        count_if(method <> 'random' and set_number <> 0) as n_misnumbered,
        count_if(method not in ('untouched', 'changed', 'random', 'word_filter', 'self_debiasing')) as n_unknown
    from written
    group by model_id, corpus_id, intervention
)
select 'model ' || model_id || ', ' || intervention as place
from methods
where n_methods <> 5 or n_random <> last_set or n_misnumbered > 0 or n_unknown > 0
union all
select 'model ' || written.model_id || ', ' || written.intervention || ', ' || written.method || ' ' || written.set_number as place
from written
left join written as untouched
    on
        untouched.model_id = written.model_id
        and untouched.corpus_id = written.corpus_id
        and untouched.intervention = written.intervention
        and untouched.method = 'untouched'
where
    written.prompts is distinct from untouched.prompts
    or written.first_prompt <> 1
    or written.last_prompt <> written.n_prompts
union all
select 'model ' || written.model_id || ', ' || written.intervention || ', ' || scored.scorer || ', ' || scored.attribute as place
from scored
left join written
    on
        written.model_id = scored.model_id
        and written.corpus_id = scored.corpus_id
        and written.intervention = scored.intervention
        and written.method = scored.method
        and written.set_number = scored.set_number
where scored.n_scored is distinct from written.n_scored
union all
select 'model ' || model_id || ', ' || intervention || ', ' || scorer || ', ' || attribute as place
from store.attribute_scores
where score < 0 or score > 1
