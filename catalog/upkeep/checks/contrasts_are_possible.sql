-- A contrast has the prompts and neurons that it counts, their p and q are probabilities, and z has the sign of the difference.
with prompts as (
    select model_id, corpus_id, contrast, count(*) filter (where side = 'a') as n_a, count(*) filter (where side = 'b') as n_b,
        min(n_tokens) as n_tokens
    from store.contrast_prompts
    group by model_id, corpus_id, contrast
),
neurons as (
    select set_id, corpus_id, contrast, count(*) as n, count(z) as n_tested, count(*) filter (where q <= 0.05) as n_significant
    from store.contrast_neurons
    group by set_id, corpus_id, contrast
)
select 'model ' || contrasts.model_id || ', ' || contrasts.contrast as place
from store.contrasts as contrasts
inner join store.models as models on models.model_id = contrasts.model_id
left join prompts
    on
        prompts.model_id = contrasts.model_id
        and prompts.corpus_id = contrasts.corpus_id
        and prompts.contrast = contrasts.contrast
left join neurons
    on
        neurons.set_id = contrasts.model_id
        and neurons.corpus_id = contrasts.corpus_id
        and neurons.contrast = contrasts.contrast
where
    contrasts.positions not in ('last', 'all')
    or contrasts.n_shuffles < 1
    or contrasts.n_controls < 1
    or contrasts.n_significant_shuffled < 0
    or contrasts.n_significant_shuffled > contrasts.n_significant_shuffled_most
    or prompts.n_a is distinct from contrasts.n_a
    or prompts.n_b is distinct from contrasts.n_b
    or prompts.n_tokens < 1
    or neurons.n is distinct from models.n_layers * models.d_ffn
    or neurons.n_tested is distinct from contrasts.n_tested
    or neurons.n_significant is distinct from contrasts.n_significant
union all
select 'model ' || set_id || ', ' || contrast || ', L' || layer || 'N' || neuron as place
from store.contrast_neurons
where
    (z is null) <> (p is null)
    or (z is null) <> (q is null)
    or p < 0
    or q < p
    or q > 1
    or z * (mean_a - mean_b) < 0
union all
select 'model ' || prompts.model_id || ', ' || prompts.contrast || ', prompt ' || prompts.side || prompts.prompt_number as place
from store.contrast_prompts as prompts
anti join store.contrasts as contrasts
    on
        contrasts.model_id = prompts.model_id
        and contrasts.corpus_id = prompts.corpus_id
        and contrasts.contrast = prompts.contrast
where prompts.prompt is not null
