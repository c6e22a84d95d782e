-- The highest tokens of some vectors of one model, best first; vectors without a list are left out.
with wanted as (
    select unnest($conditions::varchar[]) as condition, unnest($layers::smallint[]) as layer,
        unnest($numbers::integer[]) as number
),
leaning as (
    -- Of a gated model's neuron the tokens are those of the pole at which it is strongest; see queries/search/condition.py.
    select
        facts.layer,
        facts.neuron,
        starts_with(models.activation_rule, 'gate')
        and coalesce(nullif(facts.activation_max + facts.activation_min, 0), facts.score_skewness) < 0 as is_negative,
    from store.neuron_facts as facts
    inner join store.models as models on models.model_id = facts.set_id
    where facts.set_id = $model_id
),
listed as (
    select
        wanted.condition,
        wanted.layer,
        wanted.number,
        case
            when leaning.is_negative then list_slice(measured.bottom_token_ids, 1, $n_shown)
            else list_slice(measured.top_token_ids, 1, $n_shown)
        end as token_ids
    from wanted
    inner join store.projections as measured
        on measured.set_id = $model_id and measured.layer = wanted.layer and measured.neuron = wanted.number
    left join leaning on leaning.layer = wanted.layer and leaning.neuron = wanted.number
    where wanted.condition = 'value'
    union all
    select wanted.condition, wanted.layer, wanted.number, list_slice(measured.top_token_ids, 1, $n_shown) as token_ids
    from wanted
    inner join store.controls as measured
        on measured.model_id = $model_id and measured.layer = wanted.layer
        and measured.kind = wanted.condition and measured.control_id = wanted.number
),
places as (
    select condition, layer, number, unnest(token_ids) as token_id, generate_subscripts(token_ids, 1) as rank
    from listed
)
select
    places.condition,
    places.layer,
    places.number,
    list(places.token_id order by places.rank) as token_ids,
    list(coalesce(tokens.text, '') order by places.rank) as tokens,
from places
left join store.tokens as tokens
    on tokens.token_id = places.token_id
    and tokens.tokenizer_id = (select tokenizer_id from store.models where model_id = $model_id)
group by places.condition, places.layer, places.number
