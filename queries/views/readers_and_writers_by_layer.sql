-- One row per model and layer: how many of its sampled neurons read what they promote, how many write it, and how far both go together.
-- Why: a list of tokens may tell what a neuron reads, what it does, or neither, and where in the model it tells which. A reader is
-- strongest at its own tokens more often than the lists of the layer's other neurons are. A writer, once turned up, makes its own
-- tokens more probable than the untouched model does, and than at least 95% of the lists of 50 other neurons are then. From:
-- output_scores, of neurons that have both scores. Source: Arad et al. 2025; what is compared with chance is this project's.
-- key: model, layer
-- columns:
--   model: Name of the model.
--   corpus: The shown corpus.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Sampled neurons that have both scores.
--   reader_share: Share whose input score is above the mean over the lists of the layer's other neurons.
--   reader_chance: No more of the lists of other neurons would make readers: mean over neurons of that mean times the number of contexts, at most 1.
--   writer_share: Share whose output score is above the same tokens' in the untouched model and has a percentile of at least 95.
--   writer_chance: Share with such a percentile if all lists were alike: about 3 of 51.
--   both_share: Share that are both.
--   input_score: Mean input score.
--   input_other_score: Mean over the lists of other neurons.
--   output_score: Mean output score.
--   output_other_score: Mean over the lists of other neurons.
--   untouched_score: Mean of the same tokens' score in the untouched model.
--   rank_correlation: Spearman correlation of input and output score over the layer's neurons; null where either is the same for all.
with thresholds as (
    select
        cast(95 as double) as least_percentile,
),
ranked as (
    select
        scores.model,
        scores.corpus,
        scores.layer,
        scores.depth,
        scores.input_score,
        scores.input_other_score,
        scores.n_contexts,
        scores.output_score,
        scores.other_score,
        scores.untouched_score,
        scores.n_others,
        case when scores.is_reader then cast(1 as double) else cast(0 as double) end as is_reader,
        case when scores.is_writer then cast(1 as double) else cast(0 as double) end as is_writer,
        -- At least 95% of them below is at most 5% of them above, the neuron itself being as likely anywhere among them.
        (1 + floor(scores.n_others * (100 - thresholds.least_percentile) / 100)) / (scores.n_others + 1) as chance,
        rank() over (partition by scores.model, scores.layer order by scores.input_score)
        + cast(count(*) over (partition by scores.model, scores.layer, scores.input_score) as double) / 2 as input_rank,
        rank() over (partition by scores.model, scores.layer order by scores.output_score)
        + cast(count(*) over (partition by scores.model, scores.layer, scores.output_score) as double) / 2 as output_rank,
    from output_scores as scores
    cross join thresholds
    where scores.is_sampled and scores.is_reader is not null and scores.is_writer is not null
)
select
    model,
    corpus,
    layer,
    depth,
    count(*) as n_neurons,
    avg(is_reader) as reader_share,
    avg(least(n_contexts * input_other_score, 1)) as reader_chance,
    avg(is_writer) as writer_share,
    avg(chance) as writer_chance,
    avg(is_reader * is_writer) as both_share,
    avg(input_score) as input_score,
    avg(input_other_score) as input_other_score,
    avg(output_score) as output_score,
    avg(other_score) as output_other_score,
    avg(untouched_score) as untouched_score,
    case when stddev_pop(input_rank) > 0 and stddev_pop(output_rank) > 0 then corr(input_rank, output_rank) end
        as rank_correlation,
from ranked
group by model, corpus, layer, depth
