-- One row per neuron, other model and rank: the neurons of the other model that promote and suppress most of the same tokens.
-- Why: which neuron of a larger model, or of another seed, does this one's job. From: store.counterparts,
-- store.neuron_facts, store.projections. Source: this project; lists of tokens compared rank by rank, at most five for
-- each neuron and pair of models, of gated ones at equal and at opposite signs. Every neuron has a nearest one, and in small
-- models under-trained tokens crowd the lists and everything overlaps: where n_beyond_null is 0 there is none above chance.
-- Kinds of rows: is_beyond_null, because a row without it is not a counterpart.
-- key: model, layer, neuron, other_model, rank
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: Relative depth of its layer.
--   other_model: Name of the other model, which has the same tokenizer.
--   rank: Place among its best in the other model, 1-based; ties by layer, then neuron.
--   other_layer: Layer of the other model's neuron.
--   other_neuron: The other model's neuron within its layer.
--   other_address: Its address.
--   other_depth: Relative depth of its layer.
--   overlap: Weight that both give to the tokens of their lists over the weight that either gives; a token at rank r weighs 1 / log2(1 + r).
--   null_99: Overlap that 99 percent of random vectors like the layer's value vectors do not exceed with their best neuron of the other model.
--   is_beyond_null: Whether the overlap exceeds null_99; otherwise the neuron is not a counterpart.
--   n_beyond_null: How many of its best in the other model exceed it; 0: none above chance.
--   is_mutual: Whether each of the two is the other's best match.
--   top_tokens: Text of the first ten tokens that it promotes at a coefficient above 0, best first.
--   other_top_tokens: The same of the other model's neuron.
--   bottom_tokens: Text of the first ten tokens that it suppresses, lowest first.
--   other_bottom_tokens: The same of the other model's neuron.
--   pole: Sign of the coefficient at which it does what the other does at other_pole: where both are gated the one at which it is strongest; null of a model that is not.
--   other_pole: Sign of the other's coefficient (positive, negative): of a gated model; null in others.
with turned as (
    -- Of pairs with a gated model: those whose lists overlap more at opposite signs.
    select
        found.set_id as model_id,
        found.layer,
        found.neuron,
        found.other_set_id as other_model_id,
        found.rank,
    from store.counterparts as found
    inner join store.models as models on models.model_id = found.set_id
    inner join store.models as other_models on other_models.model_id = found.other_set_id
    inner join store.projections as mine
        on mine.set_id = found.set_id and mine.layer = found.layer and mine.neuron = found.neuron
    inner join store.projections as theirs
        on
            theirs.set_id = found.other_set_id
            and theirs.layer = found.other_layer
            and theirs.neuron = found.other_neuron
    where
        (models.activation_rule = 'gate > 0' or other_models.activation_rule = 'gate > 0')
        and (
            coalesce(list_sum(
                list_transform(
                    list_intersect(mine.top_token_ids, theirs.bottom_token_ids),
                    lambda t: 1 / log2(1 + greatest(list_position(mine.top_token_ids, t), list_position(theirs.bottom_token_ids, t)))
                )
            ), 0)
            + coalesce(list_sum(
                list_transform(
                    list_intersect(mine.bottom_token_ids, theirs.top_token_ids),
                    lambda t: 1 / log2(1 + greatest(list_position(mine.bottom_token_ids, t), list_position(theirs.top_token_ids, t)))
                )
            ), 0)
            > coalesce(list_sum(
                list_transform(
                    list_intersect(mine.top_token_ids, theirs.top_token_ids),
                    lambda t: 1 / log2(1 + greatest(list_position(mine.top_token_ids, t), list_position(theirs.top_token_ids, t)))
                )
            ), 0)
            + coalesce(list_sum(
                list_transform(
                    list_intersect(mine.bottom_token_ids, theirs.bottom_token_ids),
                    lambda t: 1 / log2(1 + greatest(list_position(mine.bottom_token_ids, t), list_position(theirs.bottom_token_ids, t)))
                )
            ), 0)
        )
)
select
    models.name as model,
    found.layer,
    found.neuron,
    facts.address,
    facts.depth,
    other_models.name as other_model,
    found.rank,
    found.other_layer,
    found.other_neuron,
    others.address as other_address,
    others.depth as other_depth,
    found.overlap,
    found.null_99,
    found.overlap > found.null_99 as is_beyond_null,
    count(case when found.overlap > found.null_99 then 1 end) over (
        partition by models.name, found.layer, found.neuron, other_models.name
    ) as n_beyond_null,
    found.is_mutual,
    facts.top_tokens,
    others.top_tokens as other_top_tokens,
    facts.bottom_tokens,
    others.bottom_tokens as other_bottom_tokens,
    case
        when models.activation_rule <> 'gate > 0' then null
        when
            case
                when other_models.activation_rule <> 'gate > 0' then turned.rank is not null
                else coalesce(nullif(facts.activation_max + facts.activation_min, 0), facts.score_skewness, 1) < 0
            end
            then 'negative'
        else 'positive'
    end as pole,
    case
        when other_models.activation_rule <> 'gate > 0' then null
        when
            (turned.rank is not null) <> (
                models.activation_rule = 'gate > 0'
                and coalesce(nullif(facts.activation_max + facts.activation_min, 0), facts.score_skewness, 1) < 0
            )
            then 'negative'
        else 'positive'
    end as other_pole,
from store.counterparts as found
inner join store.models as models on models.model_id = found.set_id
inner join store.models as other_models on other_models.model_id = found.other_set_id
inner join store.neuron_facts as facts
    on facts.set_id = found.set_id and facts.layer = found.layer and facts.neuron = found.neuron
inner join store.neuron_facts as others
    on
        others.set_id = found.other_set_id
        and others.layer = found.other_layer
        and others.neuron = found.other_neuron
left join turned
    on
        turned.model_id = found.set_id
        and turned.layer = found.layer
        and turned.neuron = found.neuron
        and turned.other_model_id = found.other_set_id
        and turned.rank = found.rank
