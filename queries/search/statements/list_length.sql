-- How many tokens the neurons of a model list on a side.
select len(top_token_ids) as n_listed,
from store.projections
where model_id = $model_id
limit 1
