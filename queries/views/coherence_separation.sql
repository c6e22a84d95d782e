-- One row per model and layer: how well the coherence of top tokens separates neurons from random vectors.
-- Why: read it before you sort neurons by coherence: at a separation of 0.5 coherence is uninformative. From:
-- store.coherences of the shown corpus. Source: this project, against random vectors as in Geva et al. 2022, section
-- 4.1.
-- key: model, layer
-- columns:
--   model: Name of the model.
--   corpus: The shown corpus, whose frequent tokens are compared.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Neurons whose coherence is defined.
--   mean_coherence: Mean of their coherence.
--   mean_z: Mean of their standard deviations above the layer's 500 random vectors.
--   separation: Chance that a neuron is more coherent than a random vector, ties halved (the area under the ROC curve).
--   share_above_95: Share of the neurons above 95% of the random vectors; 0.05 where they do not differ.
with thresholds as (
    select
        cast(95 as double) as percentile,
        cast(100 as double) as percents,
),
measured as (
    select
        set_id as model_id,
        corpus_id,
        layer,
        coherence,
        coherence_z,
        coherence_percentile,
    from store.neuron_facts
    where coherence_percentile is not null
)
select
    models.name as model,
    corpora.name as corpus,
    measured.layer,
    (measured.layer + cast(0.5 as double)) / models.n_layers as depth,
    count(*) as n_neurons,
    avg(measured.coherence) as mean_coherence,
    avg(measured.coherence_z) as mean_z,
    avg(measured.coherence_percentile / thresholds.percents) as separation,
    avg(case when measured.coherence_percentile > thresholds.percentile then 1 else 0 end) as share_above_95,
from measured
cross join thresholds
inner join store.models as models on models.model_id = measured.model_id
inner join store.corpora as corpora on corpora.corpus_id = measured.corpus_id
group by models.name, corpora.name, measured.layer, models.n_layers
