-- How many vectors of one model each annotator judged, and in how many they name a concept.
select
    annotator,
    sum(n_judgements)::bigint as n_judgements,
    sum(n_with_concept)::bigint as n_with_concept,
    sum(n_concepts)::bigint as n_concepts,
from concept_share
where model = $model and annotator <> 'all'
group by annotator
order by n_judgements desc, annotator
