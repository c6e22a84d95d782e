-- Which of some models had neurons changed, together or one by one.
select model,
from interventions
where list_contains($models::varchar[], model)
union
select model,
from neuron_effects
where list_contains($models::varchar[], model)
