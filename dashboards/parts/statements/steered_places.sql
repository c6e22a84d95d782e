-- What one intervention did to the loss, by domain and range of positions.
select *,
from steering
where model = $model and intervention = $intervention
order by domain, position_from
