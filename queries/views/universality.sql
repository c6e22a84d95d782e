-- One row per model, layer, neuron, other model and corpus: the neuron of the other model that is active where it is.
-- Why: a neuron that models trained apart have in common does something that the text asks for, and not what one training
-- happened to find. From: store.universality, which `neurothek ingest MODEL OTHER --job universality` fills for two models of
-- one tokenizer, and the flat facts. Source: Gurnee et al. 2024 (excess correlation with a rotated basis as the null; neurons
-- with an excess above 0.5 are their universal ones); that neurons of gated models are compared at either sign is this project's.
-- Kinds of rows: is_shown.
-- key: model, layer, neuron, other_model, corpus_id
-- columns:
--   model: Name of the model.
--   corpus: The corpus whose positions both read.
--   corpus_id: Number of the corpus.
--   is_shown: It is the model's shown corpus.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   other_model: Name of the other model.
--   other_layer: Layer of the other model's neuron; null where either's activations are the same at all positions, in every column below.
--   other_neuron: Neuron within that layer.
--   other_address: Its address.
--   other_depth: Depth of its layer.
--   correlation: Pearson correlation of their activations, the largest of all neurons of the other model; where either model is gated the largest by size, at the sign at which each is strongest: above 0 where they are strongest together.
--   similarity: What is compared: the correlation, its size where either model is gated.
--   null_correlation: The same with the directions that a random rotation makes of each layer of the other model.
--   excess: similarity - null_correlation.
--   is_universal: excess is above 0.5.
--   is_mutual: Whether each of the two is the other's best.
--   promotes: Text of the first ten tokens that it promotes at the sign at which it is strongest, best first.
--   other_promotes: The same of the other model's neuron.
with thresholds as (
    select cast(0.5 as double) as universal_excess,
),
found as (
    select
        rows.set_id,
        rows.layer,
        rows.neuron,
        rows.other_set_id,
        rows.corpus_id,
        rows.other_layer,
        rows.other_neuron,
        rows.correlation,
        case
            when models.activation_rule = 'gate > 0' or other_models.activation_rule = 'gate > 0' then abs(rows.correlation)
            else rows.correlation
        end as similarity,
        rows.null_correlation,
        case
            when models.activation_rule <> 'gate > 0' then 1
            when coalesce(nullif(facts.activation_max + facts.activation_min, 0), facts.score_skewness, 1) < 0 then -1
            else 1
        end as sign,
        case
            when other_models.activation_rule <> 'gate > 0' then 1
            when coalesce(nullif(others.activation_max + others.activation_min, 0), others.score_skewness, 1) < 0 then -1
            else 1
        end as other_sign,
        models.name as model,
        other_models.name as other_model,
        facts.address,
        facts.depth,
        facts.top_tokens,
        facts.bottom_tokens,
        others.address as other_address,
        others.depth as other_depth,
        others.top_tokens as other_top_tokens,
        others.bottom_tokens as other_bottom_tokens,
    from store.universality as rows
    inner join store.models as models on models.model_id = rows.set_id
    inner join store.models as other_models on other_models.model_id = rows.other_set_id
    inner join store.neuron_facts as facts
        on facts.set_id = rows.set_id and facts.layer = rows.layer and facts.neuron = rows.neuron
    left join store.neuron_facts as others
        on
            others.set_id = rows.other_set_id
            and others.layer = rows.other_layer
            and others.neuron = rows.other_neuron
)
select
    found.model,
    corpora.name as corpus,
    found.corpus_id,
    coalesce(measured_corpora.is_shown, false) as is_shown,
    found.layer,
    found.neuron,
    found.address,
    found.depth,
    found.other_model,
    found.other_layer,
    found.other_neuron,
    found.other_address,
    found.other_depth,
    found.correlation * found.sign * found.other_sign as correlation,
    found.similarity,
    found.null_correlation,
    found.similarity - found.null_correlation as excess,
    coalesce(found.similarity - found.null_correlation > thresholds.universal_excess, false) as is_universal,
    coalesce(back.other_layer = found.layer and back.other_neuron = found.neuron, false) as is_mutual,
    case when found.sign < 0 then found.bottom_tokens else found.top_tokens end as promotes,
    case when found.other_sign < 0 then found.other_bottom_tokens else found.other_top_tokens end as other_promotes,
from found
cross join thresholds
inner join store.corpora as corpora on corpora.corpus_id = found.corpus_id
left join measured_corpora
    on measured_corpora.model_id = found.set_id and measured_corpora.corpus_id = found.corpus_id
left join store.universality as back
    on
        back.set_id = found.other_set_id
        and back.other_set_id = found.set_id
        and back.corpus_id = found.corpus_id
        and back.layer = found.other_layer
        and back.neuron = found.other_neuron
