-- One row per model, layer and team: which positions the strong positional neurons of a layer cover together.
-- Why: Figure 9 of Voita et al. 2023, neurons of a layer that share the positions among themselves. From: neurons, which has
-- the labels and their thresholds, and the counts at every position in store.positions. Source: Voita et al. 2023, section
-- 5; that a neuron covers the positions at which it fires more often than not is ours.
-- key: model, layer, team
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
--   n_redundant: Neurons without a position of their own: the others cover all they cover.
--   corpus: The shown corpus.
with thresholds as (
    select cast(0.5 as double) as covering_frequency,
),
members as (
    select
        model,
        layer,
        neuron,
        'oscillatory' as team,
    from neurons
    where position_kind = 'oscillatory' and position_strength = 'strong'
    union all
    select
        model,
        layer,
        neuron,
        'both' as team,
    from neurons
    where position_kind in ('oscillatory', 'both extremes') and position_strength = 'strong'
),
places as (
    select
        members.model,
        members.layer,
        members.neuron,
        members.team,
        positions.n_sequences,
        positions.counts,
        unnest(generate_series(1, array_length(positions.counts))) as place,
    from members
    inner join store.models as models on models.name = members.model
    inner join store.neuron_facts as facts
        on facts.model_id = models.model_id and facts.layer = members.layer and facts.neuron = members.neuron
    inner join store.positions as positions
        on positions.model_id = facts.model_id
        and positions.corpus_id = facts.corpus_id
        and positions.layer = facts.layer
        and positions.neuron = facts.neuron
        and positions.domain = 'all'
),
cells as (
    select
        places.model,
        places.layer,
        places.neuron,
        places.team,
        places.place,
        case
            when
                cast(list_extract(places.counts, cast(places.place as integer)) as double)
                > thresholds.covering_frequency * places.n_sequences
                then 1
            else 0
        end as covers,
    from places
    cross join thresholds
),
covered as (
    select
        model,
        layer,
        team,
        place,
        sum(covers) as n_covering,
    from cells
    group by model, layer, team, place
),
compared as (
    select
        cells.model,
        cells.layer,
        cells.neuron,
        cells.team,
        cells.covers,
        case when covered.n_covering = 1 then cells.covers else 0 end as covers_alone,
        lag(cells.covers, 1, 0) over (
            partition by cells.model, cells.layer, cells.team, cells.neuron order by cells.place
        ) as covers_before,
    from cells
    inner join covered
        on covered.model = cells.model
        and covered.layer = cells.layer
        and covered.team = cells.team
        and covered.place = cells.place
),
own as (
    select
        model,
        layer,
        neuron,
        team,
        sum(case when covers = 1 and covers_before = 0 then 1 else 0 end) as n_ranges,
        sum(covers_alone) as n_alone,
    from compared
    group by model, layer, neuron, team
),
teams as (
    select
        model,
        layer,
        team,
        count(*) as n_neurons,
        sum(n_ranges) as n_ranges,
        sum(case when n_alone = 0 then 1 else 0 end) as n_redundant,
    from own
    group by model, layer, team
),
spans as (
    select
        model,
        layer,
        team,
        count(*) as n_positions,
        sum(case when n_covering > 0 then 1 else 0 end) as n_covered,
        sum(case when n_covering = 1 then 1 else 0 end) as n_covered_once,
    from covered
    group by model, layer, team
)
select
    models.name as model,
    models.family,
    models.variant,
    models.n_parameters - models.n_parameters_embedding as size,
    teams.layer,
    (cast(teams.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    teams.team,
    teams.n_neurons,
    cast(teams.n_ranges as bigint) as n_ranges,
    spans.n_positions,
    cast(spans.n_covered as bigint) as n_covered,
    cast(spans.n_covered as double) / spans.n_positions as covered_share,
    cast(spans.n_covered_once as bigint) as n_covered_once,
    cast(teams.n_redundant as bigint) as n_redundant,
    measured_corpora.corpus,
from teams
inner join spans on spans.model = teams.model and spans.layer = teams.layer and spans.team = teams.team
inner join store.models as models on models.name = teams.model
inner join measured_corpora on measured_corpora.model_id = models.model_id and measured_corpora.is_shown
