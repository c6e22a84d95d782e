-- One row per model, length of n-gram, layer and least number of occurrences: how many neurons detect n-grams seen so often.
-- Why: on a small text few positions carry bigrams and trigrams that recur ten times, and detectors_by_layer is then
-- null; here every count comes with the share of the positions that it could come from. From: store.ngrams,
-- store.triggers, store.ngram_spectrum, measured_corpora. Source: Voita et al. 2023, section 4 and appendix, who state
-- no least number; the three are ours. Below ten a count is a lower bound: of the n-grams beyond a neuron's 64 most
-- frequent triggers, the store keeps those that occur ten times.
-- Kinds of rows: n; least_occurrences.
-- key: model, n, layer, least_occurrences
-- kept: ngrams
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   n: Length of the n-grams.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   least_occurrences: Occurrences that an n-gram needs to be detected: 5, 10 or 20; detectors_by_layer asks for 10.
--   n_neurons: Neurons of the layer.
--   n_alive: Neurons that were active where a full n-gram ends.
--   n_candidates: Neurons that fire often enough and that few enough n-grams cover, however often these occur.
--   n_detectors: Those of them that nearly always fire on n-grams that hold nearly all of their activations.
--   detector_share: n_detectors / n_alive; null where no neuron is alive.
--   n_frequent: Distinct n-grams of the corpus that occur so often.
--   frequent_share: Share of the positions that they hold.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(100 as bigint) as min_activations,
        cast(5 as bigint) as most_tokens,
        cast(50 as bigint) as most_ngrams,
        cast(0.95 as double) as least_recall,
        cast(0.95 as double) as least_share,
),
minima as (
    select cast(column0 as bigint) as least_occurrences,
    from (values (5), (10), (20)) as listed(column0)
),
layers as (
    select
        ngrams.set_id as model_id,
        measured_corpora.corpus,
        ngrams.corpus_id,
        ngrams.n,
        ngrams.layer,
        count(*) as n_neurons,
        count(nullif(ngrams.n_active, 0)) as n_alive,
    from store.ngrams as ngrams
    inner join measured_corpora
        on measured_corpora.model_id = ngrams.set_id and measured_corpora.corpus_id = ngrams.corpus_id
    where measured_corpora.is_shown
    group by ngrams.set_id, measured_corpora.corpus, ngrams.corpus_id, ngrams.n, ngrams.layer
),
candidates as (
    select
        ngrams.set_id as model_id,
        ngrams.corpus_id,
        ngrams.layer,
        ngrams.neuron,
        ngrams.n,
        ngrams.n_active,
    from store.ngrams as ngrams
    cross join thresholds
    where ngrams.n_active >= thresholds.min_activations
        and ngrams.n_covering_95 <= case when ngrams.n = 1 then thresholds.most_tokens else thresholds.most_ngrams end
),
held as (
    select
        candidates.model_id,
        candidates.corpus_id,
        candidates.layer,
        candidates.neuron,
        candidates.n,
        candidates.n_active,
        minima.least_occurrences,
        sum(
            case
                when triggers.n_occurrences >= minima.least_occurrences
                    and cast(triggers.n_active as double) / triggers.n_occurrences >= thresholds.least_recall
                    then triggers.n_active
                else 0
            end
        ) as n_held,
    from candidates
    inner join store.triggers as triggers
        on triggers.set_id = candidates.model_id
        and triggers.corpus_id = candidates.corpus_id
        and triggers.layer = candidates.layer
        and triggers.neuron = candidates.neuron
        and triggers.n = candidates.n
    cross join minima
    cross join thresholds
    group by
        candidates.model_id,
        candidates.corpus_id,
        candidates.layer,
        candidates.neuron,
        candidates.n,
        candidates.n_active,
        minima.least_occurrences
),
counted as (
    select
        held.model_id,
        held.corpus_id,
        held.n,
        held.layer,
        held.least_occurrences,
        count(*) as n_candidates,
        count(case when cast(held.n_held as double) / held.n_active >= thresholds.least_share then 1 end) as n_detectors,
    from held
    cross join thresholds
    group by held.model_id, held.corpus_id, held.n, held.layer, held.least_occurrences
),
frequent as (
    select
        spectrum.model_id,
        spectrum.corpus_id,
        spectrum.n,
        minima.least_occurrences,
        sum(case when spectrum.n_occurrences >= minima.least_occurrences then spectrum.n_distinct else 0 end)
            as n_frequent,
        sum(
            case
                when spectrum.n_occurrences >= minima.least_occurrences then spectrum.n_distinct * spectrum.n_occurrences
                else 0
            end
        ) as n_frequent_positions,
        sum(spectrum.n_distinct * spectrum.n_occurrences) as n_positions,
    from store.ngram_spectrum as spectrum
    cross join minima
    group by spectrum.model_id, spectrum.corpus_id, spectrum.n, minima.least_occurrences
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    layers.n,
    layers.layer,
    (cast(layers.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    frequent.least_occurrences,
    layers.n_neurons,
    layers.n_alive,
    coalesce(counted.n_candidates, 0) as n_candidates,
    coalesce(counted.n_detectors, 0) as n_detectors,
    cast(coalesce(counted.n_detectors, 0) as double) / nullif(layers.n_alive, 0) as detector_share,
    cast(frequent.n_frequent as bigint) as n_frequent,
    cast(frequent.n_frequent_positions as double) / frequent.n_positions as frequent_share,
    layers.corpus,
from layers
inner join frequent
    on frequent.model_id = layers.model_id and frequent.corpus_id = layers.corpus_id and frequent.n = layers.n
inner join store.models as models on models.model_id = layers.model_id
left join counted
    on counted.model_id = layers.model_id
    and counted.corpus_id = layers.corpus_id
    and counted.n = layers.n
    and counted.layer = layers.layer
    and counted.least_occurrences = frequent.least_occurrences
