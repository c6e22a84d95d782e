-- The token detectors of each model whose detected tokens hold most of their activations, with what they promote. Of a gated
-- model scores and lists are those of the pole at which the neuron is strongest.
with ranked as (
    select
        token_detectors.*,
        neurons.top_tokens,
        neurons.bottom_tokens,
        neurons.pole,
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
    case when pole = 'negative' then list_transform(scores, lambda score: -score) else scores end as scores,
    detected_share,
    n_active,
    pole,
    case when pole = 'negative' then bottom_tokens else top_tokens end as top_tokens,
    case when pole = 'negative' then top_tokens else bottom_tokens end as bottom_tokens,
    corpus,
from ranked
where place <= $most
order by list_position($models::varchar[], model), place
