-- How often shortcuts of some models say what the model says, by the state that they start from.
select *,
from shortcut_quality
where list_contains($models::varchar[], model)
order by size, model, method, state
