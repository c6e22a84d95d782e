-- How many neurons of each model detect bigrams and trigrams, and of how many; why not, where they cannot be labelled.
select
    model,
    n,
    any_value(status) as status,
    sum(n_detectors)::bigint as n_detectors,
    sum(n_neurons)::bigint as n_neurons,
from detectors_by_layer
where list_contains($models::varchar[], model) and n > 1
group by model, n
order by n, model
