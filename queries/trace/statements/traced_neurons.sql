-- What the catalog says about some neurons of one model, given as layers and neurons side by side.
with asked as (
    select
        unnest($layers::smallint[]) as layer,
        unnest($neurons::integer[]) as neuron,
)
select
    neurons.layer,
    neurons.neuron,
    neurons.address,
    neurons.top_tokens,
    neurons.bottom_tokens,
    neurons.frequency,
    neurons.is_token_detector,
    neurons.position_kind,
    neurons.position_strength,
    neurons.n_tokens_seen,
    neurons.corpus,
from asked
inner join neurons on neurons.layer = asked.layer and neurons.neuron = asked.neuron
where neurons.model = $model
