-- Every model with what questions need to know of it, smallest first.
select
    models.model_id,
    models.name,
    models.variant,
    models.n_layers,
    models.d_ffn,
    models.tokenizer_id,
    exists (select 1 from store.runs as runs where runs.model_id = models.model_id and runs.corpus_id is not null)
        as is_measured_on_text,
from store.models as models
order by models.n_parameters - models.n_parameters_embedding, models.variant nulls first, models.name
