-- The share of neurons that had not fired yet after so many tokens; null for models without exact zeros.
select curve.model, curve.n_tokens, curve.dead_share, curve.n_never_active as n_dead, curve.n_neurons, curve.corpus,
from dead_by_tokens as curve
inner join models on models.model = curve.model
where
    curve.domain = 'all' and curve.region = 'model' and list_contains($models::varchar[], curve.model)
order by models.size, curve.model, curve.n_tokens
