-- Output scores are a probability times a share of the vocabulary, of neurons that the model has, set at their pole.
select 'model ' || scores.set_id || ', layer ' || scores.layer || ', neuron ' || scores.neuron as place
from store.output_scores as scores
left join store.models as models on models.model_id = scores.set_id
where
    models.n_layers is null
    or scores.layer not between 0 and models.n_layers - 1
    or scores.neuron not between 0 and models.d_ffn - 1
    or scores.pole not in ('positive', 'negative')
    or (scores.pole = 'negative' and models.activation_rule <> 'gate > 0')
    or (scores.pole = 'positive') <> (scores.value > 0)
    or (scores.pole = 'negative') <> (scores.value < 0)
    or (scores.output_score is null) <> (scores.rank_best is null)
    or (scores.output_score is null) <> (scores.max_probability is null)
    or scores.rank_best not between 0 and models.vocab_size - 1
    or scores.max_probability not between 0 and 1 + 1e-9
    or scores.output_score not between 0 and scores.max_probability + 1e-9
    or (scores.rank_best = 0 and abs(scores.output_score - scores.max_probability) > 1e-9)
    or scores.untouched_score not between 0 and 1 + 1e-9
    or scores.n_others not between 0 and models.d_ffn - 1
    or (scores.other_score is null) <> (scores.n_others = 0 or scores.output_score is null)
    or (scores.other_percentile is null) <> (scores.other_score is null)
    or scores.other_score not between 0 and 1 + 1e-9
    or scores.other_percentile not between 0 and 100
