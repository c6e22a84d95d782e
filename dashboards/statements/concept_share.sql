-- How much of the highest tokens is of a concept, in vectors of some models, all annotators together.
select *,
from concept_share
where list_contains($models::varchar[], model) and annotator = 'all'
order by size, model, condition desc
