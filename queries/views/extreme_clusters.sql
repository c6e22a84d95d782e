-- One row per model and cluster with an extreme sub-update: which neurons move the top candidate furthest, and when.
-- Why: a few clusters of neurons make most of the extreme updates, largely for function words at the start of a text.
-- From: store.sub_updates, store.examples, store.event_samples, store.neuron_facts, measured_corpora. Source: Geva et al.
-- 2022, section 5.2: extreme is |score of the candidate| >= 10 in the GPT-2 they looked at. Ours are the use of the
-- same bound for every size of GPT-2, and in other models of the 99.9th percentile of the model's own dominant
-- sub-updates, and the columns about a cluster.
-- key: model, cluster_id
-- columns:
--   model: Name of the model.
--   cluster_id: Cluster of the shown clustering.
--   extreme_score: What counts as extreme: |m (e . v)| for the token at the top before the FFN.
--   n_extreme: Extreme dominant sub-updates of the cluster's neurons.
--   extreme_share: n_extreme over all extreme ones of the model.
--   n_negative: Those whose raw score is below 0.
--   n_firing_neurons: Neurons of the cluster that made them.
--   cluster_size: Neurons of the cluster.
--   neuron_share: cluster_size over all neurons of the model.
--   first_layer: Lowest layer of the cluster.
--   last_layer: Highest layer of the cluster.
--   n_layers_spanned: Layers that have a neuron of the cluster.
--   mean_log_count: Mean over its neurons of the mean ln(1 + corpus count) of their listed top tokens.
--   early_share: Share of n_extreme after at most three ids of a sentence.
--   mean_target_probability: Mean probability of the true next token in these examples; null where there is none.
--   corpus: The shown corpus.
--   n_first_position: Those of n_extreme read at position 0 of their text, where many models have massive activations: these decide what is extreme there.
with thresholds as (
    select
        cast(10 as double) as gpt2_score,
        3 as early_ids,
),
shown as (
    select
        event_samples.model_id,
        event_samples.corpus_id,
        measured_corpora.corpus,
        case
            when models.architecture = 'gpt2' then thresholds.gpt2_score
            else event_samples.extreme_score
        end as extreme_score,
        thresholds.early_ids,
    from store.event_samples as event_samples
    inner join measured_corpora
        on measured_corpora.model_id = event_samples.model_id
        and measured_corpora.corpus_id = event_samples.corpus_id
    inner join store.models as models on models.model_id = event_samples.model_id
    cross join thresholds
    where measured_corpora.is_shown
),
extremes as (
    select
        shown.model_id,
        facts.cluster_id,
        sub_updates.layer,
        sub_updates.neuron,
        sub_updates.score_candidate,
        examples.target_probability,
        case when examples.n_prefix_tokens <= shown.early_ids then 1 else 0 end as is_early,
        case when array_length(examples.tokens) = 1 then 1 else 0 end as is_first,
    from shown
    inner join store.sub_updates as sub_updates
        on sub_updates.set_id = shown.model_id and sub_updates.corpus_id = shown.corpus_id
    inner join store.examples as examples
        on examples.model_id = sub_updates.set_id
        and examples.corpus_id = sub_updates.corpus_id
        and examples.example_id = sub_updates.example_id
    inner join store.neuron_facts as facts
        on facts.set_id = sub_updates.set_id
        and facts.layer = sub_updates.layer
        and facts.neuron = sub_updates.neuron
    where
        sub_updates.kind = 'dominant'
        and abs(cast(sub_updates.score_candidate as double)) >= shown.extreme_score
        and facts.cluster_id is not null
),
totals as (
    select
        model_id,
        count(*) as n_extreme,
    from extremes
    group by model_id
),
fired as (
    select
        model_id,
        cluster_id,
        count(*) as n_extreme,
        cast(sum(case when score_candidate < 0 then 1 else 0 end) as bigint) as n_negative,
        count(distinct layer * 1048576 + neuron) as n_firing_neurons,
        avg(cast(is_early as double)) as early_share,
        avg(target_probability) as mean_target_probability,
        cast(sum(is_first) as bigint) as n_first_position,
    from extremes
    group by model_id, cluster_id
),
members as (
    select
        set_id as model_id,
        cluster_id,
        count(*) as cluster_size,
        min(layer) as first_layer,
        max(layer) as last_layer,
        count(distinct layer) as n_layers_spanned,
        avg(top_token_log_frequency) as mean_log_count,
    from store.neuron_facts
    where cluster_id is not null
    group by set_id, cluster_id
)
select
    models.name as model,
    fired.cluster_id,
    shown.extreme_score,
    fired.n_extreme,
    cast(fired.n_extreme as double) / totals.n_extreme as extreme_share,
    fired.n_negative,
    fired.n_firing_neurons,
    members.cluster_size,
    cast(members.cluster_size as double) / models.n_neurons as neuron_share,
    members.first_layer,
    members.last_layer,
    members.n_layers_spanned,
    members.mean_log_count,
    fired.early_share,
    fired.mean_target_probability,
    shown.corpus,
    fired.n_first_position,
from fired
inner join shown on shown.model_id = fired.model_id
inner join totals on totals.model_id = fired.model_id
inner join members on members.model_id = fired.model_id and members.cluster_id = fired.cluster_id
inner join store.models as models on models.model_id = fired.model_id
