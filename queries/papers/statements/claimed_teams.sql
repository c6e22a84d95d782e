-- Whether the oscillatory neurons of each layer cover all positions among themselves, none of them redundant.
select
    model,
    layer,
    covered_share = 1 and n_redundant = 0 as is_one,
from position_teams
where list_contains($models::varchar[], model) and team = 'oscillatory' and n_neurons > 1
order by model, layer
