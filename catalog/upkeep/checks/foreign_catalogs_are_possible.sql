-- A foreign catalog is of a model here; its neurons are of the model's shape, each in its place, with shares, tokens of the model and another neuron beside it.
select 'catalog ' || catalogs.catalog as place
from store.foreign_catalogs as catalogs
left join store.models as models on models.model_id = catalogs.model_id
left join (
    select set_id, catalog, count(*) as n
    from store.foreign_neurons
    group by set_id, catalog
) as counted on counted.set_id = catalogs.model_id and counted.catalog = catalogs.catalog
where
    models.model_id is null
    or catalogs.kind not in ('neuronpedia', 'gluscope', 'openai')
    or catalogs.positions not in ('all', 'without the first')
    or catalogs.n_tokens < 1
    or counted.n is distinct from catalogs.n_neurons
union all
select 'catalog ' || neurons.catalog || ', L' || neurons.layer || 'N' || neurons.neuron as place
from store.foreign_neurons as neurons
left join store.foreign_catalogs as catalogs
    on catalogs.catalog = neurons.catalog and catalogs.model_id = neurons.set_id
left join store.models as models on models.model_id = neurons.set_id
where
    catalogs.catalog is null
    or models.model_id is null
    or neurons.layer not between 0 and models.n_layers - 1
    or neurons.neuron not between 0 and models.d_ffn - 1
    or neurons.other_neuron not between 0 and models.d_ffn - 1
    or neurons.other_neuron = neurons.neuron
    or (neurons.other_neuron is null and models.d_ffn > 1)
    or neurons.frequency not between 0 and 1
    or len(neurons.promoted) not in (0, len(neurons.promoted_token_ids))
    or len(neurons.suppressed) not in (0, len(neurons.suppressed_token_ids))
union all
select 'catalog ' || listed.catalog || ', token ' || listed.token_id as place
from (
    select distinct catalog, set_id, unnest(list_concat(promoted_token_ids, suppressed_token_ids)) as token_id
    from store.foreign_neurons
) as listed
inner join store.models as models on models.model_id = listed.set_id
anti join store.tokens as tokens on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = listed.token_id
where listed.token_id is not null
union all
select 'catalog ' || explanations.catalog || ', explanation ' || explanations.number || ' of L' || explanations.layer || 'N'
    || explanations.neuron as place
from store.foreign_explanations as explanations
left join store.foreign_neurons as neurons
    on
        neurons.catalog = explanations.catalog
        and neurons.set_id = explanations.set_id
        and neurons.layer = explanations.layer
        and neurons.neuron = explanations.neuron
where
    neurons.catalog is null
    or explanations.number < 1
    or trim(explanations.text) = ''
    or (explanations.score is null) <> (explanations.score_name is null)
