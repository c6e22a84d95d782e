-- One row per model, token and neuron that pushed the token to the top: it was dominant where an FFN saturated the token.
-- Why: which neurons make the model say a token; start from a token. From: store.examples, store.sub_updates,
-- store.projections, measured_corpora, store.neuron_facts. Source: this project, on the saturation events and dominant
-- sub-updates of Geva et al. 2022, section 5: it counts examples whose final token a layer's FFN brought to the top for
-- good, with the dominant neurons of that layer whose centred score for the token is above 0: m (e . v) less its mean
-- over all tokens, which changes no prediction. Where the model's projections were not measured, the raw score is used.
-- key: model, token_id, layer, neuron
-- columns:
--   model: Name of the model.
--   token_id: The token.
--   token: Its exact text.
--   word: Its text trimmed and case-folded.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron.
--   n_pushes: Examples in which it pushed the token.
--   n_saturations: Examples in which any FFN brought the token to the top for good.
--   push_share: n_pushes / n_saturations.
--   mean_score: Mean of its raw score m (e . v) for the token over these examples.
--   mean_centred: Mean of its centred score: the raw one less its mean over all tokens; null without projections.
--   mean_coefficient: Mean of its coefficient.
--   mean_share: Mean share of its layer's update that it holds.
--   top_tokens: Text of the first ten tokens it promotes at a coefficient above 0.
--   writes: Text of the first ten tokens it promotes at mean_coefficient: below 0 those at the bottom of its list.
--   corpus: The shown corpus.
with thresholds as (
    select cast(0 as double) as least_score,
),
saturations as (
    select
        examples.model_id,
        examples.corpus_id,
        measured_corpora.corpus,
        examples.example_id,
        examples.saturation_layer,
        examples.final_token,
    from store.examples as examples
    inner join measured_corpora
        on measured_corpora.model_id = examples.model_id and measured_corpora.corpus_id = examples.corpus_id
    where measured_corpora.is_shown and examples.saturation_by_ffn
),
totals as (
    select
        model_id,
        final_token,
        count(*) as n_saturations,
    from saturations
    group by model_id, final_token
),
scored as (
    select
        saturations.model_id,
        saturations.corpus,
        saturations.final_token,
        sub_updates.layer,
        sub_updates.neuron,
        sub_updates.share,
        cast(sub_updates.coefficient as double) as coefficient,
        cast(sub_updates.score_final as double) as score,
        cast(sub_updates.score_final as double)
        - cast(coalesce(sub_updates.multiplier, sub_updates.coefficient) as double) * cast(projections.score_mean as double) as centred,
    from saturations
    inner join store.sub_updates as sub_updates
        on sub_updates.set_id = saturations.model_id
        and sub_updates.corpus_id = saturations.corpus_id
        and sub_updates.example_id = saturations.example_id
        and sub_updates.layer = saturations.saturation_layer
    left join store.projections as projections
        on projections.set_id = sub_updates.set_id
        and projections.layer = sub_updates.layer
        and projections.neuron = sub_updates.neuron
    where sub_updates.kind = 'dominant'
),
pushed as (
    select
        scored.model_id,
        scored.corpus,
        scored.final_token,
        scored.layer,
        scored.neuron,
        count(*) as n_pushes,
        avg(scored.score) as mean_score,
        avg(scored.centred) as mean_centred,
        avg(scored.coefficient) as mean_coefficient,
        avg(scored.share) as mean_share,
    from scored
    cross join thresholds
    where coalesce(scored.centred, scored.score) > thresholds.least_score
    group by scored.model_id, scored.corpus, scored.final_token, scored.layer, scored.neuron
)
select
    models.name as model,
    pushed.final_token as token_id,
    tokens.text as token,
    tokens.word,
    pushed.layer,
    pushed.neuron,
    facts.address,
    pushed.n_pushes,
    totals.n_saturations,
    cast(pushed.n_pushes as double) / totals.n_saturations as push_share,
    pushed.mean_score,
    pushed.mean_centred,
    pushed.mean_coefficient,
    pushed.mean_share,
    facts.top_tokens,
    case when pushed.mean_coefficient < 0 then facts.bottom_tokens else facts.top_tokens end as writes,
    pushed.corpus,
from pushed
inner join totals on totals.model_id = pushed.model_id and totals.final_token = pushed.final_token
inner join store.models as models on models.model_id = pushed.model_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = pushed.final_token
inner join store.neuron_facts as facts
    on facts.set_id = pushed.model_id and facts.layer = pushed.layer and facts.neuron = pushed.neuron
