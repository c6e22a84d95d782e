-- Which positions the strong positional neurons of each layer of one model cover together.
select layer, team, n_neurons, n_ranges, n_positions, covered_share, n_covered_once, n_redundant, corpus,
from position_teams
where model = $model
order by layer, team
