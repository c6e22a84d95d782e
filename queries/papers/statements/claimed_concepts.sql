-- One row per judgement of a vector by one annotator: how much of its list falls under a concept, and how many concepts it
-- has, those of stop words and punctuation left out.
with named as (
    select
        model,
        condition,
        layer,
        coalesce(neuron, control_id) as number,
        annotator,
        created_at,
        count(*) as n_concepts,
    from annotations
    where is_latest and class <> 'stopwords-punctuation'
    group by all
)
select
    judgements.model,
    judgements.condition,
    judgements.annotator,
    judgements.n_shown,
    judgements.n_tokens_without_stopwords as n_tokens,
    coalesce(named.n_concepts, 0) as n_concepts,
from judgements
left join named
    on
        named.model = judgements.model
        and named.condition = judgements.condition
        and named.layer = judgements.layer
        and named.number = judgements.number
        and named.annotator = judgements.annotator
        and named.created_at = judgements.created_at
where list_contains($models::varchar[], judgements.model)
order by judgements.model, judgements.condition, judgements.annotator, judgements.layer, judgements.number
