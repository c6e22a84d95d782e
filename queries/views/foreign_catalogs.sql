-- One row per foreign catalog: whose it is, how it was made as far as they say, and how far it agrees with what was measured here.
-- Why: a catalog whose lists share no more than chance is of another model, of other weights, or in other tokens. From:
-- store.foreign_catalogs, which `neurothek import --from neuronpedia FOLDER` fills, and the view foreign_agreement. Source: this project.
-- key: catalog, model
-- columns:
--   model: Name of the model here.
--   catalog: The catalog: its kind, and the beginning of a fingerprint of its content.
--   kind: Whose form it has: neuronpedia, gluscope or openai.
--   their_model: The model, as they name it; null where they do not.
--   version: The release that it is of, as they name it; null where they do not.
--   n_neurons: Neurons that it knows.
--   n_explained: Those of them that it explains in words.
--   n_compared_neurons: Those with lists here and there.
--   mean_overlap: Mean of overlap over these, see foreign_agreement; null without any.
--   mean_overlap_by_chance: Mean of overlap_by_chance; null likewise.
--   overlap_by_chance_99: Its 99th percentile; null likewise.
--   n_beyond_chance: Neurons whose overlap is above that percentile.
--   median_log2_ratio: Median of log2_ratio over the neurons with a frequency here and there; null without any.
--   n_tokens: Tokens that they measured on; null where they do not say.
--   active_when: When a neuron counts as active in their frequency; null where they do not say.
--   positions: Positions that their frequency counts; null where they do not say.
--   method: What its files, or those who publish them, say of how it was made.
--   source: Where it was read from.
--   imported_at: When it was imported, in UTC.
with chance as (
    select
        model,
        catalog,
        percentile_cont(0.99) within group (order by overlap_by_chance) as overlap_by_chance_99,
    from foreign_agreement
    where n_compared > 0 and overlap_by_chance is not null
    group by model, catalog
),
agreement as (
    select
        agreement.model,
        agreement.catalog,
        count(agreement.overlap) as n_compared_neurons,
        avg(agreement.overlap) as mean_overlap,
        avg(agreement.overlap_by_chance) as mean_overlap_by_chance,
        max(chance.overlap_by_chance_99) as overlap_by_chance_99,
        count(case when agreement.overlap > chance.overlap_by_chance_99 then 1 end) as n_beyond_chance,
        percentile_cont(0.5) within group (order by agreement.log2_ratio) as median_log2_ratio,
    from foreign_agreement as agreement
    left join chance on chance.model = agreement.model and chance.catalog = agreement.catalog
    group by agreement.model, agreement.catalog
),
explained as (
    select
        catalog,
        set_id,
        count(*) as n_explained,
    from (
        select distinct
            catalog,
            set_id,
            layer,
            neuron,
        from store.foreign_explanations
    ) as neurons
    group by catalog, set_id
)
select
    models.name as model,
    catalogs.catalog,
    catalogs.kind,
    catalogs.their_model,
    catalogs.version,
    catalogs.n_neurons,
    coalesce(explained.n_explained, 0) as n_explained,
    agreement.n_compared_neurons,
    agreement.mean_overlap,
    agreement.mean_overlap_by_chance,
    agreement.overlap_by_chance_99,
    agreement.n_beyond_chance,
    agreement.median_log2_ratio,
    catalogs.n_tokens,
    catalogs.active_when,
    catalogs.positions,
    catalogs.method,
    catalogs.source,
    catalogs.imported_at,
from store.foreign_catalogs as catalogs
inner join store.models as models on models.model_id = catalogs.model_id
left join agreement on agreement.catalog = catalogs.catalog and agreement.model = models.name
left join explained on explained.catalog = catalogs.catalog and explained.set_id = catalogs.model_id
