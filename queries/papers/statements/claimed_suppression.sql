-- Whether each detector of the models suppresses what triggers it, beside the share expected of equally frequent tokens.
select
    suppresses,
    expected,
from suppression
where list_contains($models::varchar[], model)
order by model, layer, neuron
