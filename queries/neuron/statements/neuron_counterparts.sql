-- The neurons of other models that promote and suppress most of the same tokens as one neuron, smaller models first.
select
    counterparts.other_model,
    counterparts.rank,
    counterparts.other_address as address,
    counterparts.overlap,
    counterparts.null_99,
    counterparts.is_beyond_null,
    counterparts.is_mutual,
    counterparts.other_top_tokens as top_tokens,
from counterparts
inner join models on models.model = counterparts.other_model
where counterparts.model = $model and counterparts.layer = $layer and counterparts.neuron = $neuron
order by models.size, counterparts.other_model, counterparts.rank
