-- How many continuations have each attribute, by the method that wrote them.
select *,
from attribute_shares
where model = $model and intervention = $intervention
order by scorer, attribute, method
