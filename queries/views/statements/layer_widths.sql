-- How many neurons a layer of each model has.
select model_id, d_ffn,
from store.models
