-- One row per model and method that decides from an example's own layers when to stop: what it costs and saves.
-- Why: Table 6 of Geva et al. 2022. From: store.exits of the shown corpus. Source: Geva et al. 2022, section 6.2, and their
-- code; sets of clusters as their text has it. Every number is a mean over the seeds, each of which splits the examples
-- anew into a training part and a tenth to test; standard deviations over seeds are those of a sample.
-- Kinds of rows: method.
-- key: model, method
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   n_layers: Number of blocks.
--   method: cluster_ranks, cluster_sets: by the clusters of the ten dominant sub-updates, compared place by place or as sets; logistic_stream, logistic_ffn, logistic_sum: by a logistic regression per layer.
--   n_clusters_asked: Clusters that were asked for; null for classifiers.
--   n_seeds: Splits of the examples.
--   n: Examples tested, over all seeds.
--   accuracy: Share of the examples whose prediction at the exit is the model's own.
--   accuracy_sd: Standard deviation over the seeds; null for a single one.
--   exited_share: Share of the examples that were left before the last layer: the others are correct whatever the rule.
--   exited_accuracy: Share of those that are correct, pooled; null where none was left.
--   layers_saved: Mean number of layers that did not run.
--   layers_saved_sd: Standard deviation over the seeds.
--   saved_share: layers_saved / n_layers.
--   layers_saved_correct: layers_saved over the correct examples only.
--   layers_saved_correct_sd: Standard deviation over the seeds.
--   corpus: The shown corpus.
with shown as (
    select
        exits.model_id,
        measured_corpora.corpus,
        exits.method,
        exits.parameter,
        exits.n,
        exits.n_correct,
        exits.n_exited,
        exits.accuracy,
        exits.layers_saved,
        exits.layers_saved_correct,
    from store.exits as exits
    inner join measured_corpora
        on measured_corpora.model_id = exits.model_id and measured_corpora.corpus_id = exits.corpus_id
    where
        measured_corpora.is_shown
        and exits.method in ('cluster_ranks', 'cluster_sets', 'logistic_stream', 'logistic_ffn', 'logistic_sum')
),
seeds as (
    select
        model_id,
        corpus,
        method,
        max(case when method in ('cluster_ranks', 'cluster_sets') then cast(parameter as integer) end)
            as n_clusters_asked,
        count(*) as n_seeds,
        cast(sum(n) as bigint) as n,
        avg(accuracy) as accuracy,
        stddev_samp(accuracy) as accuracy_sd,
        cast(sum(n_exited) as double) / sum(n) as exited_share,
        1 - cast(sum(n - n_correct) as double) / nullif(sum(n_exited), 0) as exited_accuracy,
        avg(layers_saved) as layers_saved,
        stddev_samp(layers_saved) as layers_saved_sd,
        avg(layers_saved_correct) as layers_saved_correct,
        stddev_samp(layers_saved_correct) as layers_saved_correct_sd,
    from shown
    group by model_id, corpus, method
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    models.n_layers,
    seeds.method,
    seeds.n_clusters_asked,
    seeds.n_seeds,
    seeds.n,
    seeds.accuracy,
    seeds.accuracy_sd,
    seeds.exited_share,
    seeds.exited_accuracy,
    seeds.layers_saved,
    seeds.layers_saved_sd,
    seeds.layers_saved / models.n_layers as saved_share,
    seeds.layers_saved_correct,
    seeds.layers_saved_correct_sd,
    seeds.corpus,
from seeds
inner join store.models as models on models.model_id = seeds.model_id
