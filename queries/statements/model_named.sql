-- What addresses and rows need to know of one model.
select model_id, name, n_layers, d_ffn, tokenizer_id,
from store.models
where name = $model
