-- The headline numbers of some models, smallest first.
select *,
from scaling
where list_contains($models::varchar[], model)
order by size, variant nulls first, model
