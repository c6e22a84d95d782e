-- Every model with what questions need to know of it.
select
    models.model_id,
    models.name,
    models.family,
    models.variant,
    models.size,
    models.n_layers,
    models.d_ffn,
    models.d_model,
    models.tokenizer_id,
    models.architecture,
    starts_with(models.activation_rule, 'gate') as is_signed,
    models.has_exact_zeros,
    models.model_id in (select runs.model_id from store.runs as runs where runs.corpus_id is not null)
        as is_measured_on_text,
    models.source,
    models.revision,
    models.weights_sha256,
    models.model_id in (
        select runs.model_id from store.runs as runs where runs.tokenizer_identity like '%"file"%'
    ) as tokenizer_from_file,
    json_object(
        'architecture', models.architecture,
        'activation', models.activation,
        'norm_position', models.norm_position,
        'n_heads', models.n_heads,
        'context_length', models.context_length,
        'has_parallel_residual', models.has_parallel_residual,
        'settings', models.settings
    )::varchar as configured,
    models.norm_position || ' ' || models.position_encoding as built,
from store.models as models
