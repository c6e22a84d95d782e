-- One row per model, domain, region and number of tokens: the number of neurons that had not fired by then. A region is
-- a layer or the whole model.
-- Why: the share of dead neurons falls with the tokens seen, and this view shows how far, and whether it still falls.
-- From: first_active in store.neuron_facts (domain 'all', the domains one after another as in the corpus) and in
-- store.activity (each domain by itself), on the shown corpus. Source: the dead of Voita et al. 2023, section 3; the
-- curve, its grid of token numbers, and that the prepended BOS does not count are ours.
-- Kinds of rows: region, where model includes the layers; domain, where all includes the others.
-- key: model, domain, region, layer, n_tokens
-- columns:
--   model: Name of the model.
--   domain: A domain of the corpus, or all.
--   region: layer, or model: all of its layers together.
--   layer: Layer, 0-based; null for the region model.
--   n_tokens: Counted positions seen: 1, 2 or 5 times a power of ten from 10, and all there are.
--   n_neurons: Neurons that were measured.
--   n_never_active: Neurons that did not fire at the first n_tokens positions.
--   never_active_share: n_never_active / n_neurons.
--   dead_share: never_active_share; null for models without exact zeros.
--   corpus: The shown corpus.
with grid as (
    select cast(column0 as bigint) as n_tokens,
    from (
        values
            (10), (20), (50), (100), (200), (500), (1000), (2000), (5000), (10000), (20000), (50000), (100000),
            (200000), (500000),
            (1000000), (2000000), (5000000), (10000000), (20000000), (50000000), (100000000), (200000000),
            (500000000), (1000000000)
    ) as numbers(column0)
),
shown as (
    select
        model_id,
        corpus_id,
        corpus,
    from measured_corpora
    where is_shown
),
first_times as (
    select
        set_id as model_id,
        'all' as domain,
        layer,
        n_positions,
        first_active,
        count(*) as n_neurons,
    from store.neuron_facts
    where n_positions is not null
    group by set_id, layer, n_positions, first_active
    union all
    select
        activity.set_id as model_id,
        activity.domain,
        activity.layer,
        activity.n_positions,
        activity.first_active,
        count(*) as n_neurons,
    from store.activity as activity
    inner join shown on shown.model_id = activity.set_id and shown.corpus_id = activity.corpus_id
    group by activity.set_id, activity.domain, activity.layer, activity.n_positions, activity.first_active
),
all_layers as (
    select
        model_id,
        domain,
        layer,
        n_positions,
        first_active,
        n_neurons,
    from first_times
    union all
    select
        model_id,
        domain,
        cast(null as smallint) as layer,
        n_positions,
        first_active,
        n_neurons,
    from first_times
),
totals as (
    select
        model_id,
        domain,
        layer,
        max(n_positions) as n_positions,
        sum(n_neurons) as n_neurons,
    from all_layers
    group by model_id, domain, layer
),
points as (
    select
        totals.model_id,
        totals.domain,
        totals.layer,
        totals.n_neurons,
        grid.n_tokens,
    from totals
    inner join grid on grid.n_tokens < totals.n_positions
    union all
    select
        model_id,
        domain,
        layer,
        n_neurons,
        n_positions as n_tokens,
    from totals
),
awake as (
    select
        points.model_id,
        points.domain,
        points.layer,
        points.n_tokens,
        max(points.n_neurons) as n_neurons,
        sum(case when all_layers.first_active < points.n_tokens then all_layers.n_neurons else 0 end) as n_active,
    from points
    inner join all_layers
        on all_layers.model_id = points.model_id
        and all_layers.domain = points.domain
        and all_layers.layer is not distinct from points.layer
    group by points.model_id, points.domain, points.layer, points.n_tokens
)
select
    models.name as model,
    awake.domain,
    case when awake.layer is null then 'model' else 'layer' end as region,
    awake.layer,
    awake.n_tokens,
    cast(awake.n_neurons as bigint) as n_neurons,
    cast(awake.n_neurons - awake.n_active as bigint) as n_never_active,
    cast(awake.n_neurons - awake.n_active as double) / awake.n_neurons as never_active_share,
    case
        when models.has_exact_zeros then cast(awake.n_neurons - awake.n_active as double) / awake.n_neurons
    end as dead_share,
    shown.corpus,
from awake
inner join store.models as models on models.model_id = awake.model_id
inner join shown on shown.model_id = awake.model_id
