-- What addresses, rows and labels need to know of one model.
select
    model_id,
    name,
    family,
    variant,
    n_parameters - n_parameters_embedding as size,
    n_layers,
    d_ffn,
    tokenizer_id,
    has_exact_zeros,
from store.models
where name = $model
