-- One row per model and kind of cluster with extreme sub-updates: how many clusters, firings and value vectors it has.
-- Why: extreme updates come from few value vectors, of two sorts: common words early in a text, and specific tokens of
-- which the model is sure. From: extreme_clusters, which says what is extreme, store.neuron_facts, store.examples,
-- measured_corpora. Source: Geva et al. 2022, section 5.2, who sorted clusters by reading them; that a cluster's kind
-- is defined by two numbers, its share of early firings and the frequency of its top tokens, and both thresholds are
-- ours. Every kind has a row for each model with extreme updates, with 0 where no cluster is of it; firings sum to all
-- of them.
-- Kinds of rows: kind.
-- key: model, kind
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   kind: specific tokens: top tokens at most as frequent as those of the model's average neuron; early common tokens: more frequent ones, at least half of the firings early; late common tokens: the others.
--   n_clusters: Clusters of the kind with an extreme update.
--   n_extreme: Extreme dominant sub-updates of their neurons.
--   extreme_share: n_extreme over all extreme ones of the model.
--   n_value_vectors: Neurons of these clusters, whether they made one or not.
--   value_vector_share: n_value_vectors over all neurons of the model.
--   mean_layers_spanned: Mean over the clusters of the layers that have a neuron of the cluster; null without clusters, like the means below.
--   first_layer: Lowest layer of these clusters.
--   last_layer: Highest layer of these clusters.
--   early_share: Share of n_extreme after at most three ids of a sentence.
--   mean_log_count: Mean of the clusters' ln(1 + corpus count) of top tokens, each weighted by its neurons.
--   mean_target_probability: Mean of the clusters' probability of the true next token, each weighted by its n_extreme; of those that have one.
--   all_early_share: Share of all examples that are so early.
--   all_log_count: Mean ln(1 + corpus count) of top tokens over all neurons of the model: the bound between common and specific.
--   all_target_probability: Mean probability of the true next token over all examples that have one.
--   corpus: The shown corpus.
--   n_first_position: Those of n_extreme read at position 0 of their text, where many models have massive activations.
with thresholds as (
    select
        cast(0.5 as double) as least_early_share,
        3 as early_ids,
),
kinds as (
    select 'early common tokens' as kind
    union all
    select 'late common tokens' as kind
    union all
    select 'specific tokens' as kind
),
usual_neurons as (
    select
        set_id as model_id,
        avg(top_token_log_frequency) as all_log_count,
    from store.neuron_facts
    group by set_id
),
usual_examples as (
    select
        examples.model_id,
        measured_corpora.corpus,
        avg(case when examples.n_prefix_tokens <= thresholds.early_ids then cast(1 as double) else cast(0 as double) end)
            as all_early_share,
        avg(examples.target_probability) as all_target_probability,
    from store.examples as examples
    inner join measured_corpora
        on measured_corpora.model_id = examples.model_id and measured_corpora.corpus_id = examples.corpus_id
    cross join thresholds
    where measured_corpora.is_shown
    group by examples.model_id, measured_corpora.corpus
),
told as (
    select
        models.model_id,
        extreme_clusters.n_extreme,
        extreme_clusters.extreme_share,
        extreme_clusters.cluster_size,
        extreme_clusters.neuron_share,
        extreme_clusters.n_layers_spanned,
        extreme_clusters.first_layer,
        extreme_clusters.last_layer,
        extreme_clusters.early_share,
        extreme_clusters.mean_log_count,
        extreme_clusters.mean_target_probability,
        extreme_clusters.n_first_position,
        case
            when extreme_clusters.mean_log_count <= usual_neurons.all_log_count then 'specific tokens'
            when extreme_clusters.early_share >= thresholds.least_early_share then 'early common tokens'
            else 'late common tokens'
        end as kind,
    from extreme_clusters
    inner join store.models as models on models.name = extreme_clusters.model
    inner join usual_neurons on usual_neurons.model_id = models.model_id
    cross join thresholds
),
summed as (
    select
        model_id,
        kind,
        count(*) as n_clusters,
        sum(n_extreme) as n_extreme,
        sum(extreme_share) as extreme_share,
        sum(cluster_size) as n_value_vectors,
        sum(neuron_share) as value_vector_share,
        avg(n_layers_spanned) as mean_layers_spanned,
        min(first_layer) as first_layer,
        max(last_layer) as last_layer,
        sum(n_extreme * early_share) / sum(n_extreme) as early_share,
        sum(cluster_size * mean_log_count) / sum(cluster_size) as mean_log_count,
        sum(n_extreme * mean_target_probability)
        / sum(case when mean_target_probability is not null then n_extreme end) as mean_target_probability,
        sum(n_first_position) as n_first_position,
    from told
    group by model_id, kind
),
measured as (
    select distinct model_id,
    from told
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    kinds.kind,
    coalesce(summed.n_clusters, 0) as n_clusters,
    cast(coalesce(summed.n_extreme, 0) as bigint) as n_extreme,
    coalesce(summed.extreme_share, cast(0 as double)) as extreme_share,
    cast(coalesce(summed.n_value_vectors, 0) as bigint) as n_value_vectors,
    coalesce(summed.value_vector_share, cast(0 as double)) as value_vector_share,
    summed.mean_layers_spanned,
    summed.first_layer,
    summed.last_layer,
    summed.early_share,
    summed.mean_log_count,
    summed.mean_target_probability,
    usual_examples.all_early_share,
    usual_neurons.all_log_count,
    usual_examples.all_target_probability,
    usual_examples.corpus,
    cast(coalesce(summed.n_first_position, 0) as bigint) as n_first_position,
from measured
cross join kinds
inner join store.models as models on models.model_id = measured.model_id
inner join usual_neurons on usual_neurons.model_id = measured.model_id
inner join usual_examples on usual_examples.model_id = measured.model_id
left join summed on summed.model_id = measured.model_id and summed.kind = kinds.kind
