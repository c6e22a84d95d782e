-- Cosines of what a neuron reads and writes lie between -1 and 1, and are those of its kind of FFN.
with cosines as (
    select set_id as model_id, layer, 'neuron ' || neuron as place, key_value, up_value, gate_value, gate_up
    from store.input_output
    union all
    select model_id, layer, 'random neuron ' || control_id as place, key_value, up_value, gate_value, gate_up
    from store.input_output_controls
)
select 'model ' || cosines.model_id || ', layer ' || cosines.layer || ', ' || cosines.place as place
from cosines
inner join store.models as models on models.model_id = cosines.model_id
where
    greatest(abs(cosines.key_value), abs(cosines.up_value), abs(cosines.gate_value), abs(cosines.gate_up)) > 1
    or (models.activation_rule = 'gate > 0' and cosines.key_value is not null)
    or (
        models.activation_rule <> 'gate > 0'
        and coalesce(cosines.up_value, cosines.gate_value, cosines.gate_up) is not null
    )
