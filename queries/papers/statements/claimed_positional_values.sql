-- Coherence of the top tokens of positional neurons and of the others of their layers, with 95% intervals.
select
    by_position.model,
    by_position.layer,
    by_position.n_coherent as n,
    others.coherence - by_position.coherence as difference,
    sqrt(
        pow(by_position.coherence_high - by_position.coherence, 2) + pow(others.coherence_high - others.coherence, 2)
    ) as half,
from positional_values as by_position
inner join positional_values as others on others.model = by_position.model and others.layer = by_position.layer
where
    list_contains($models::varchar[], by_position.model)
    and by_position.kind = 'positional'
    and others.kind = 'other'
    and difference is not null
order by by_position.model, by_position.layer
