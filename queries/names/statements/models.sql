-- Every model with what questions need to know of it.
select
    models.model_id,
    models.name,
    models.variant,
    models.n_parameters - models.n_parameters_embedding as size,
    models.n_layers,
    models.d_ffn,
    models.tokenizer_id,
    models.model_id in (select runs.model_id from store.runs as runs where runs.corpus_id is not null)
        as is_measured_on_text,
from store.models as models
