-- One row per foreign catalog and neuron: what somebody else's catalog says of it, in their words and numbers.
-- Why: what is said elsewhere of a neuron that was measured here; nothing of it was measured here.
-- From: store.foreign_neurons, which `neurothek import --from neuronpedia FOLDER` fills. Source: the catalog, see foreign_catalogs.
-- key: catalog, model, layer, neuron
-- columns:
--   model: Name of the model here.
--   catalog: The catalog: its kind, and the beginning of a fingerprint.
--   kind: Whose form it has: neuronpedia, gluscope or openai.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   foreign_frequency: Share of positions at which it is active by their rule; null where they do not say.
--   foreign_max_activation: Its largest activation as they say; null where they do not.
--   foreign_promoted: Texts of the tokens it promotes most, in their order and spelling.
--   foreign_suppressed: Texts of the tokens it suppresses most, likewise.
--   n_listed: Tokens in both lists.
--   n_matched: Those that are exactly one token of the model's tokenizer here.
--   n_explanations: Explanations that the catalog has of it.
with listed as (
    select
        catalog,
        set_id,
        layer,
        neuron,
        unnest(promoted_token_ids) as token_id,
    from store.foreign_neurons
    union all
    select
        catalog,
        set_id,
        layer,
        neuron,
        unnest(suppressed_token_ids) as token_id,
    from store.foreign_neurons
),
matched as (
    select
        catalog,
        set_id,
        layer,
        neuron,
        count(token_id) as n_matched,
    from listed
    group by catalog, set_id, layer, neuron
),
explained as (
    select
        catalog,
        set_id,
        layer,
        neuron,
        count(*) as n_explanations,
    from store.foreign_explanations
    group by catalog, set_id, layer, neuron
)
select
    models.name as model,
    said.catalog,
    catalogs.kind,
    said.layer,
    said.neuron,
    models.name || '/L' || said.layer || 'N' || said.neuron as address,
    said.frequency as foreign_frequency,
    said.max_activation as foreign_max_activation,
    said.promoted as foreign_promoted,
    said.suppressed as foreign_suppressed,
    cast(array_length(said.promoted_token_ids) + array_length(said.suppressed_token_ids) as bigint) as n_listed,
    coalesce(matched.n_matched, 0) as n_matched,
    coalesce(explained.n_explanations, 0) as n_explanations,
from store.foreign_neurons as said
inner join store.foreign_catalogs as catalogs
    on catalogs.catalog = said.catalog and catalogs.model_id = said.set_id
inner join store.models as models on models.model_id = said.set_id
left join matched
    on
        matched.catalog = said.catalog
        and matched.set_id = said.set_id
        and matched.layer = said.layer
        and matched.neuron = said.neuron
left join explained
    on
        explained.catalog = said.catalog
        and explained.set_id = said.set_id
        and explained.layer = said.layer
        and explained.neuron = said.neuron
