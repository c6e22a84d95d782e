-- One row per model and layer: how many examples of the shown corpus saturate there: from there on the final token stays on top.
-- Why: Tables 9 and 10 of Geva et al. 2022, where predictions are settled, for models of several sizes; they number
-- layers from 1. From: store.examples, measured_corpora. Source: Geva et al. 2022, section 5, and their code: the start
-- of the trailing run of layers whose stream has the final token at the top. Saturation by the FFN is ours: a
-- saturation before the last layer whose token was not at the top before that layer's FFN. Sentences are cut
-- at random, as in their code.
-- key: model, layer
-- kept: examples
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_examples: Examples of the model.
--   n_saturated: Examples that saturate in this layer.
--   saturated_share: n_saturated / n_examples; the layers of a model sum to 1.
--   n_by_ffn: Those whose token the layer's FFN brought to the top.
--   n_cumulative: Examples that saturate in this layer or below.
--   cumulative_share: n_cumulative / n_examples.
--   n_eliminations: Examples whose candidate is pushed down furthest in this layer.
--   corpus: The shown corpus.
with layers as (
    select
        set_id as model_id,
        layer,
        depth,
    from store.neuron_facts
    where neuron = 0
),
shown as (
    select
        examples.model_id,
        measured_corpora.corpus,
        examples.saturation_layer,
        examples.saturation_by_ffn,
        examples.elimination_layer,
    from store.examples as examples
    inner join measured_corpora
        on measured_corpora.model_id = examples.model_id and measured_corpora.corpus_id = examples.corpus_id
    where measured_corpora.is_shown
),
totals as (
    select
        model_id,
        corpus,
        count(*) as n_examples,
    from shown
    group by model_id, corpus
),
saturated as (
    select
        model_id,
        saturation_layer as layer,
        count(*) as n_saturated,
        sum(case when saturation_by_ffn then 1 else 0 end) as n_by_ffn,
    from shown
    group by model_id, saturation_layer
),
eliminated as (
    select
        model_id,
        elimination_layer as layer,
        count(*) as n_eliminations,
    from shown
    where elimination_layer is not null
    group by model_id, elimination_layer
),
counted as (
    select
        layers.model_id,
        layers.layer,
        layers.depth,
        totals.corpus,
        totals.n_examples,
        coalesce(saturated.n_saturated, 0) as n_saturated,
        cast(coalesce(saturated.n_by_ffn, 0) as bigint) as n_by_ffn,
        coalesce(eliminated.n_eliminations, 0) as n_eliminations,
        cast(
            sum(coalesce(saturated.n_saturated, 0)) over (
                partition by layers.model_id
                order by layers.layer
                rows between unbounded preceding and current row
            ) as bigint
        ) as n_cumulative,
    from layers
    inner join totals on totals.model_id = layers.model_id
    left join saturated on saturated.model_id = layers.model_id and saturated.layer = layers.layer
    left join eliminated on eliminated.model_id = layers.model_id and eliminated.layer = layers.layer
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    counted.layer,
    counted.depth,
    counted.n_examples,
    counted.n_saturated,
    cast(counted.n_saturated as double) / counted.n_examples as saturated_share,
    counted.n_by_ffn,
    counted.n_cumulative,
    cast(counted.n_cumulative as double) / counted.n_examples as cumulative_share,
    counted.n_eliminations,
    counted.corpus,
from counted
inner join store.models as models on models.model_id = counted.model_id
