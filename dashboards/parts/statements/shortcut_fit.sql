-- How well one state of a model predicts another, by one method.
select *,
from shortcut_fit
where model = $model and method = $method
order by source_state, target_state
