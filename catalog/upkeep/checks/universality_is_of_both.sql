-- Correlations lie between -1 and 1, with a neuron of the other model that correlates with one at least as much in turn.
with sized as (
    select
        rows.set_id, rows.layer, rows.neuron, rows.other_set_id, rows.corpus_id, rows.other_layer, rows.other_neuron,
        rows.correlation, rows.null_correlation,
        case
            when models.activation_rule = 'gate > 0' or others.activation_rule = 'gate > 0' then abs(rows.correlation)
            else rows.correlation
        end as similarity,
        others.n_layers,
        others.d_ffn
    from store.universality as rows
    left join store.models as models on models.model_id = rows.set_id
    left join store.models as others on others.model_id = rows.other_set_id
)
select
    'model ' || sized.set_id || ', layer ' || sized.layer || ', neuron ' || sized.neuron
    || ', model ' || sized.other_set_id || ', corpus ' || sized.corpus_id as place
from sized
left join sized as back
    on
        back.set_id = sized.other_set_id
        and back.other_set_id = sized.set_id
        and back.corpus_id = sized.corpus_id
        and back.layer = sized.other_layer
        and back.neuron = sized.other_neuron
where
    sized.n_layers is null
    or sized.correlation not between -1 and 1
    or sized.null_correlation not between -1 and 1
    or (sized.correlation is null) <> (sized.other_layer is null)
    or (sized.correlation is null) <> (sized.other_neuron is null)
    or (sized.correlation is null) <> (sized.null_correlation is null)
    or sized.other_layer not between 0 and sized.n_layers - 1
    or sized.other_neuron not between 0 and sized.d_ffn - 1
    -- Of the same product from either side, the larger of which is another's; rounding is that of storing it.
    or (sized.correlation is not null and coalesce(back.similarity < sized.similarity - 1e-9, true))
