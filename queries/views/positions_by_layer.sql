-- One row per model and layer: how many of its neurons are positional on the shown corpus, by kind and strength.
-- Why: Figure 8 of Voita et al. 2023, where positional neurons live and of which kind they are, for models of several
-- sizes. From: neurons, which has the labels and their thresholds. Source: Voita et al. 2023, section 5; kinds and strength
-- are ours. Chance labels none: shuffled over the positions of their sequences, activations stay far below the limit (see
-- the definitions). Numbers are null where the corpus has too few sequences to tell.
-- key: model, layer
-- kept: positions
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Neurons of the layer that were measured.
--   n_positional: Neurons of any kind.
--   positional_share: n_positional / n_neurons.
--   n_strong: Strong ones of any kind.
--   n_oscillatory_strong: Strong ones of the kind oscillatory.
--   n_oscillatory_weak: Weak ones of the kind oscillatory.
--   n_both_extremes_strong: Strong ones of the kind both extremes.
--   n_both_extremes_weak: Weak ones of the kind both extremes.
--   n_one_extreme_strong: Strong ones of the kind one extreme.
--   n_one_extreme_weak: Weak ones of the kind one extreme.
--   n_other_strong: Strong ones of the kind other.
--   n_other_weak: Weak ones of the kind other.
--   mean_mutual_information: Mean corrected mutual information of the positional neurons, in nats.
--   max_mutual_information: Largest corrected mutual information of the layer, in nats.
--   n_sequences: Full-length sequences behind the row.
--   why_not: Why the corpus cannot label neurons; null where it can.
--   corpus: The shown corpus.
with watched as (
    select
        model,
        family,
        variant,
        size,
        layer,
        depth,
        position_kind,
        position_strength,
        mutual_information_corrected,
        n_position_sequences,
        corpus,
        case when position_kind in ('not positional', 'too few sequences') then 0 else 1 end as is_positional,
        case when position_kind = 'too few sequences' then 1 else 0 end as is_undecided,
    from neurons
    where position_kind is not null
),
layers as (
    select
        model,
        family,
        variant,
        size,
        layer,
        depth,
        corpus,
        count(*) as n_neurons,
        max(n_position_sequences) as n_sequences,
        sum(is_undecided) as n_undecided,
        cast(sum(is_positional) as bigint) as n_positional,
        cast(sum(case when position_strength = 'strong' then 1 else 0 end) as bigint) as n_strong,
        cast(sum(case when position_kind = 'oscillatory' and position_strength = 'strong' then 1 else 0 end) as bigint)
            as n_oscillatory_strong,
        cast(sum(case when position_kind = 'oscillatory' and position_strength = 'weak' then 1 else 0 end) as bigint)
            as n_oscillatory_weak,
        cast(sum(case when position_kind = 'both extremes' and position_strength = 'strong' then 1 else 0 end) as bigint)
            as n_both_extremes_strong,
        cast(sum(case when position_kind = 'both extremes' and position_strength = 'weak' then 1 else 0 end) as bigint)
            as n_both_extremes_weak,
        cast(sum(case when position_kind = 'one extreme' and position_strength = 'strong' then 1 else 0 end) as bigint)
            as n_one_extreme_strong,
        cast(sum(case when position_kind = 'one extreme' and position_strength = 'weak' then 1 else 0 end) as bigint)
            as n_one_extreme_weak,
        cast(sum(case when position_kind = 'other' and position_strength = 'strong' then 1 else 0 end) as bigint)
            as n_other_strong,
        cast(sum(case when position_kind = 'other' and position_strength = 'weak' then 1 else 0 end) as bigint)
            as n_other_weak,
        avg(case when is_positional = 1 then mutual_information_corrected end) as mean_mutual_information,
        max(mutual_information_corrected) as max_mutual_information,
    from watched
    group by model, family, variant, size, layer, depth, corpus
)
select
    layers.model,
    layers.family,
    layers.variant,
    layers.size,
    layers.layer,
    layers.depth,
    layers.n_neurons,
    case when layers.n_undecided = 0 then layers.n_positional end as n_positional,
    case when layers.n_undecided = 0 then cast(layers.n_positional as double) / layers.n_neurons end as positional_share,
    case when layers.n_undecided = 0 then layers.n_strong end as n_strong,
    case when layers.n_undecided = 0 then layers.n_oscillatory_strong end as n_oscillatory_strong,
    case when layers.n_undecided = 0 then layers.n_oscillatory_weak end as n_oscillatory_weak,
    case when layers.n_undecided = 0 then layers.n_both_extremes_strong end as n_both_extremes_strong,
    case when layers.n_undecided = 0 then layers.n_both_extremes_weak end as n_both_extremes_weak,
    case when layers.n_undecided = 0 then layers.n_one_extreme_strong end as n_one_extreme_strong,
    case when layers.n_undecided = 0 then layers.n_one_extreme_weak end as n_one_extreme_weak,
    case when layers.n_undecided = 0 then layers.n_other_strong end as n_other_strong,
    case when layers.n_undecided = 0 then layers.n_other_weak end as n_other_weak,
    case when layers.n_undecided = 0 then layers.mean_mutual_information end as mean_mutual_information,
    layers.max_mutual_information,
    layers.n_sequences,
    case
        when layers.n_undecided > 0
            then concat_ws(' ', 'too few sequences: the corpus has', cast(layers.n_sequences as varchar), 'of full length')
    end as why_not,
    layers.corpus,
from layers
