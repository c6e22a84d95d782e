-- Which share of the positions is held by n-grams that occur 5 and 10 times in the text of each model.
select distinct
    model,
    n,
    least_occurrences,
    frequent_share,
from detectors_by_minimum
where list_contains($models::varchar[], model) and least_occurrences in (5, 10)
order by model, n, least_occurrences
