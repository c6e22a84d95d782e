-- The texts of the tokens that each detector of the models detects.
select
    model,
    address,
    detected_tokens,
from token_detectors
where list_contains($models::varchar[], model)
order by model, layer, neuron
