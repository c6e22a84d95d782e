-- One row per model: how many of its neurons are for one domain, move no logit, follow token frequency, or write what they promote, each beside chance.
-- Why: whether larger models have more of them. Models without the jobs selectivity, entropy, massive and output_scores have nulls,
-- and those without any of them no row. From: selectivity, entropy_neurons, massive_activations and store.output_scores. Sources: Tang
-- et al. 2024, Stolfo et al. 2024, Gurnee et al. 2024, Sun et al. 2024, Yu et al. 2024, Arad et al. 2025; the baselines are this
-- project's.
-- key: model
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   n_tested: Neurons with an entropy over domains.
--   selective_share: Share of them that are selective for a domain.
--   shuffled_share: The same with shuffled domains, the mean of 20 shuffles.
--   n_neurons: Neurons whose value vectors were held against random ones.
--   beyond_random_share: Share of them with more length where no logit moves than all 500 random vectors; by chance 1 in 501.
--   n_entropy_neurons: Those of them that are at least as long as half of their layer's value vectors.
--   n_frequency_neurons: Neurons whose scores follow token counts more than those of all random vectors, and which are so long.
--   n_massive_layers: Layers whose FFN adds a number of at least 1000 times the mean size.
--   n_super_weights: Those of them in which one weight makes at least half of it.
--   n_scored: Neurons that were turned up.
--   writer_share: Share of them whose own tokens the model then says more than untouched, and than at least 95% of the lists of 50 others.
--   writer_chance: Share above so many lists if all were alike: about 3 of 51.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(100 as double) as above_all,
        cast(95 as double) as least_percentile,
),
selective as (
    select
        model,
        count(*) as n_tested,
        avg(case when is_selective then cast(1 as double) else cast(0 as double) end) as selective_share,
        avg(shuffled_share) as shuffled_share,
    from selectivity
    where entropy is not null
    group by model
),
entropies as (
    select
        entropy_neurons.model,
        count(*) as n_neurons,
        avg(
            case
                when entropy_neurons.null_share_percentile >= thresholds.above_all then cast(1 as double)
                else cast(0 as double)
            end
        ) as beyond_random_share,
        sum(case when entropy_neurons.is_entropy_neuron then cast(1 as bigint) else cast(0 as bigint) end)
            as n_entropy_neurons,
        sum(case when entropy_neurons.is_frequency_neuron then cast(1 as bigint) else cast(0 as bigint) end)
            as n_frequency_neurons,
    from entropy_neurons
    cross join thresholds
    group by entropy_neurons.model
),
massive as (
    select
        model,
        sum(case when is_massive then cast(1 as bigint) else cast(0 as bigint) end) as n_massive_layers,
        sum(case when is_super_weight then cast(1 as bigint) else cast(0 as bigint) end) as n_super_weights,
    from massive_activations
    group by model
),
turned_up as (
    select
        scores.set_id,
        scores.corpus_id,
        count(*) as n_scored,
        avg(
            case
                when scores.output_score > scores.untouched_score and scores.other_percentile >= thresholds.least_percentile
                    then cast(1 as double)
                else cast(0 as double)
            end
        ) as writer_share,
        avg((1 + floor(scores.n_others * (100 - thresholds.least_percentile) / 100)) / (scores.n_others + 1)) as writer_chance,
    from store.output_scores as scores
    cross join thresholds
    where scores.is_sampled and scores.other_percentile is not null
    group by scores.set_id, scores.corpus_id
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    selective.n_tested,
    selective.selective_share,
    selective.shuffled_share,
    entropies.n_neurons,
    entropies.beyond_random_share,
    cast(entropies.n_entropy_neurons as bigint) as n_entropy_neurons,
    cast(entropies.n_frequency_neurons as bigint) as n_frequency_neurons,
    cast(massive.n_massive_layers as bigint) as n_massive_layers,
    cast(massive.n_super_weights as bigint) as n_super_weights,
    turned_up.n_scored,
    turned_up.writer_share,
    turned_up.writer_chance,
    measured_corpora.corpus,
from store.models as models
left join selective on selective.model = models.name
left join entropies on entropies.model = models.name
left join massive on massive.model = models.name
left join measured_corpora on measured_corpora.model_id = models.model_id and measured_corpora.is_shown
left join turned_up on turned_up.set_id = models.model_id and turned_up.corpus_id = measured_corpora.corpus_id
where coalesce(selective.n_tested, entropies.n_neurons, massive.n_massive_layers, turned_up.n_scored) is not null
