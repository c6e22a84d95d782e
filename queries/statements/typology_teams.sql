-- Which positions the strong positional neurons of the layers of some models cover together.
select *,
from position_teams
where list_contains($models::varchar[], model)
order by size, model, layer, team desc
