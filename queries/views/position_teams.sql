-- One row per model, layer and team: which positions the strong positional neurons of a layer cover together.
-- Why: Figure 9 of Voita et al. 2023, neurons of a layer that share the positions among themselves. From: neurons, which has
-- the labels and their thresholds, and the counts at every position in store.positions. Source: Voita et al. 2023, section
-- 5; that a neuron covers the positions at which it fires more often than not is ours.
-- Kinds of rows: team, where both includes the other.
-- key: model, layer, team
-- kept: positions
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   team: oscillatory: the strong oscillatory neurons; both: these and the strong ones with both extremes.
--   n_neurons: Neurons of the team.
--   n_ranges: Maximal runs of positions that one of them covers.
--   n_positions: Counted positions of a full-length sequence.
--   n_covered: Positions that at least one of them covers.
--   covered_share: n_covered / n_positions.
--   n_covered_once: Positions that only one of them covers.
--   n_redundant: Neurons whose positions are all covered by others.
--   corpus: The shown corpus.
with thresholds as (
    select cast(0.5 as double) as covering_frequency,
),
labelled as (
    select
        models.model_id,
        neurons.layer,
        neurons.neuron,
        neurons.position_kind,
    from neurons
    inner join store.models as models on models.name = neurons.model
    where neurons.position_kind in ('oscillatory', 'both extremes') and neurons.position_strength = 'strong'
),
counted as (
    select
        labelled.model_id,
        labelled.layer,
        labelled.neuron,
        labelled.position_kind,
        positions.n_sequences,
        positions.counts,
        array_length(positions.counts) as n_positions,
    from labelled
    inner join store.neuron_facts as facts
        on facts.set_id = labelled.model_id and facts.layer = labelled.layer and facts.neuron = labelled.neuron
    inner join store.positions as positions
        on positions.set_id = facts.set_id
        and positions.corpus_id = facts.corpus_id
        and positions.layer = facts.layer
        and positions.neuron = facts.neuron
        and positions.domain = 'all'
    where array_length(positions.counts) > 0
),
places as (
    select
        model_id,
        layer,
        neuron,
        position_kind,
        n_sequences,
        counts,
        unnest(generate_series(1, n_positions)) as place,
    from counted
),
ranges as (
    -- Only the positions that a neuron covers: most cover few.
    select
        places.model_id,
        places.layer,
        places.neuron,
        places.position_kind,
        cast(places.place as integer) as place,
        case
            when places.place = 1 then 1
            when
                cast(list_extract(places.counts, cast(greatest(places.place - 1, 1) as integer)) as double)
                > thresholds.covering_frequency * places.n_sequences
                then 0
            else 1
        end as starts_range,
    from places
    cross join thresholds
    where
        cast(list_extract(places.counts, cast(places.place as integer)) as double)
        > thresholds.covering_frequency * places.n_sequences
),
members as (
    select model_id, layer, neuron, 'oscillatory' as team, n_positions,
    from counted
    where position_kind = 'oscillatory'
    union all
    select model_id, layer, neuron, 'both' as team, n_positions,
    from counted
),
cells as (
    select model_id, layer, neuron, 'oscillatory' as team, place, starts_range,
    from ranges
    where position_kind = 'oscillatory'
    union all
    select model_id, layer, neuron, 'both' as team, place, starts_range,
    from ranges
),
covered as (
    select
        model_id,
        layer,
        team,
        place,
        count(*) as n_covering,
    from cells
    group by model_id, layer, team, place
),
own as (
    select
        cells.model_id,
        cells.layer,
        cells.neuron,
        cells.team,
        sum(cells.starts_range) as n_ranges,
        sum(case when covered.n_covering = 1 then 1 else 0 end) as n_alone,
    from cells
    inner join covered
        on covered.model_id = cells.model_id
        and covered.layer = cells.layer
        and covered.team = cells.team
        and covered.place = cells.place
    group by cells.model_id, cells.layer, cells.neuron, cells.team
),
teams as (
    select
        members.model_id,
        members.layer,
        members.team,
        count(*) as n_neurons,
        max(members.n_positions) as n_positions,
        sum(coalesce(own.n_ranges, 0)) as n_ranges,
        sum(case when coalesce(own.n_alone, 0) = 0 then 1 else 0 end) as n_redundant,
    from members
    left join own
        on own.model_id = members.model_id
        and own.layer = members.layer
        and own.neuron = members.neuron
        and own.team = members.team
    group by members.model_id, members.layer, members.team
),
spans as (
    select
        model_id,
        layer,
        team,
        count(*) as n_covered,
        sum(case when n_covering = 1 then 1 else 0 end) as n_covered_once,
    from covered
    group by model_id, layer, team
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    teams.layer,
    (cast(teams.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    teams.team,
    teams.n_neurons,
    cast(teams.n_ranges as bigint) as n_ranges,
    cast(teams.n_positions as bigint) as n_positions,
    coalesce(spans.n_covered, 0) as n_covered,
    cast(coalesce(spans.n_covered, 0) as double) / teams.n_positions as covered_share,
    cast(coalesce(spans.n_covered_once, 0) as bigint) as n_covered_once,
    cast(teams.n_redundant as bigint) as n_redundant,
    measured_corpora.corpus,
from teams
inner join store.models as models on models.model_id = teams.model_id
left join spans on spans.model_id = teams.model_id and spans.layer = teams.layer and spans.team = teams.team
inner join measured_corpora on measured_corpora.model_id = models.model_id and measured_corpora.is_shown
