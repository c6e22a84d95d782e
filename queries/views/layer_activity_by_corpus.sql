-- One row per model, corpus and layer: how its neurons fire on every corpus the model was measured on.
-- Why: the view layer_activity shows one corpus per model; this one shows all. From: neurons_by_corpus.
-- Source: Voita et al. 2023, section 3; that the prepended BOS does not count is ours.
-- Frequencies are those of the neurons that fired.
-- Kinds of rows: is_shown, because a model may have several corpora.
-- key: model, corpus_id, layer
-- columns:
--   model: Name of the model.
--   corpus: Name of the corpus.
--   corpus_id: Number of the corpus in this file.
--   is_shown: Whether the other views show this corpus for the model.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Neurons of the layer that were measured.
--   n_never_active: Neurons that never fired.
--   never_active_share: n_never_active / n_neurons.
--   n_dead: n_never_active; null for models without exact zeros.
--   dead_share: n_dead / n_neurons.
--   mean_frequency: Mean frequency of the neurons that fired.
--   median_frequency: Half of the neurons that fired have at most this frequency.
--   n_tokens_seen: Counted positions of the corpus.
with watched as (
    select
        model,
        corpus,
        corpus_id,
        is_shown,
        layer,
        depth,
        n_tokens_seen,
        is_dead,
        never_active,
        case when not never_active then frequency end as frequency,
    from neurons_by_corpus
),
layers as (
    select
        model,
        corpus,
        corpus_id,
        is_shown,
        layer,
        max(depth) as depth,
        max(n_tokens_seen) as n_tokens_seen,
        count(*) as n_neurons,
        sum(case when never_active then 1 else 0 end) as n_never_active,
        sum(case when is_dead then 1 when not is_dead then 0 end) as n_dead,
        avg(frequency) as mean_frequency,
        median(frequency) as median_frequency,
    from watched
    group by model, corpus, corpus_id, is_shown, layer
)
select
    model,
    corpus,
    corpus_id,
    is_shown,
    layer,
    depth,
    n_neurons,
    cast(n_never_active as bigint) as n_never_active,
    cast(n_never_active as double) / n_neurons as never_active_share,
    cast(n_dead as bigint) as n_dead,
    cast(n_dead as double) / n_neurons as dead_share,
    mean_frequency,
    median_frequency,
    n_tokens_seen,
from layers
