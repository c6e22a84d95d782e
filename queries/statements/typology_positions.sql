-- How many positional neurons of each kind the layers of some models have.
select *,
from positions_by_layer
where list_contains($models::varchar[], model)
order by size, model, layer
