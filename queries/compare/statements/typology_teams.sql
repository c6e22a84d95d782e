-- Which positions the strong positional neurons of the layers of some models cover together.
select *,
from position_teams
where list_contains($models::varchar[], model)
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model, layer, team desc
