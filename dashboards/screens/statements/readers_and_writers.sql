-- The random neurons of one model with an input and an output score, and whether each is above what other lists of tokens make.
select
    model,
    layer,
    address,
    pole,
    input_score,
    input_other_score,
    output_score,
    untouched_score,
    other_percentile,
    is_reader,
    is_writer,
    corpus,
from output_scores
where model = $model and is_sampled and is_reader is not null and is_writer is not null and output_score > 0
order by layer, neuron
