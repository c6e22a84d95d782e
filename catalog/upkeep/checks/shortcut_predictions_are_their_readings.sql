-- The summary of a shortcut's predictions agrees with its readings, and from the last state it is the model itself.
with counted as (
    select
        run_id, method, state,
        count(*) as n,
        avg(case when rank_in_model <= 1 then 1.0 else 0.0 end) as precision_1,
        avg(case when rank_in_model <= 5 then 1.0 else 0.0 end) as precision_5,
        avg(case when rank_in_model <= 10 then 1.0 else 0.0 end) as precision_10,
        avg(surprisal) as surprisal
    from store.shortcut_readings
    group by run_id, method, state
)
select 'model ' || predictions.model_id || ', ' || predictions.method || ' from state ' || predictions.state as place
from store.shortcut_predictions as predictions
inner join store.models as models on models.model_id = predictions.model_id
left join counted
    on
        counted.run_id = predictions.run_id
        and counted.method = predictions.method
        and counted.state = predictions.state
where
    counted.n is distinct from predictions.n
    or abs(counted.precision_1 - predictions.precision_1) > 1e-9
    or abs(counted.precision_5 - predictions.precision_5) > 1e-9
    or abs(counted.precision_10 - predictions.precision_10) > 1e-9
    or abs(counted.surprisal - predictions.surprisal) > 1e-6 * (1 + predictions.surprisal)
    or not (predictions.precision_1_low <= predictions.precision_1)
    or not (predictions.precision_1 <= predictions.precision_1_high)
    or least(predictions.precision_1_low, predictions.precision_5_low, predictions.precision_10_low) < 0
    or greatest(predictions.precision_1_high, predictions.precision_5_high, predictions.precision_10_high) > 1
    or not (predictions.precision_5 between predictions.precision_5_low and predictions.precision_5_high)
    or not (predictions.precision_10 between predictions.precision_10_low and predictions.precision_10_high)
    or not (predictions.surprisal_low <= predictions.surprisal)
    or not (predictions.surprisal <= predictions.surprisal_high)
    or predictions.state not between 0 and models.n_layers
    or (predictions.state = models.n_layers and predictions.precision_1 <> 1)
