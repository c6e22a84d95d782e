-- One row per judgement of a vector by one annotator: how much of its list falls under a concept.
select
    model,
    condition,
    annotator,
    n_shown,
    n_tokens,
from judgements
where list_contains($models::varchar[], model)
order by model, condition, annotator, layer, number
