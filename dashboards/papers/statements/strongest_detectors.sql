-- The token detectors of each model whose detected tokens hold most of their activations, with what they promote.
with ranked as (
    select
        token_detectors.*,
        neurons.top_tokens,
        neurons.bottom_tokens,
        row_number() over (
            partition by token_detectors.model
            order by
                token_detectors.detected_share desc,
                token_detectors.n_active desc,
                token_detectors.layer,
                token_detectors.neuron
        ) as place,
    from token_detectors
    inner join neurons
        on neurons.model = token_detectors.model
        and neurons.layer = token_detectors.layer
        and neurons.neuron = token_detectors.neuron
    where list_contains($models::varchar[], token_detectors.model)
)
select
    model,
    address,
    detected_tokens,
    recalls,
    scores,
    detected_share,
    n_active,
    top_tokens,
    bottom_tokens,
    corpus,
from ranked
where place <= $most
order by list_position($models::varchar[], model), place
