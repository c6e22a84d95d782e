-- Shares, percentiles and probabilities of what sets neurons apart are possible, and nothing is larger than the largest.
select 'model ' || set_id || ', L' || layer || 'N' || neuron || ': entropy' as place
from store.entropy
where
    logit_variance < 0
    or null_share not between 0 and 1
    or abs(count_correlation) > 1
    or (logit_variance is null) <> (null_share is null)
    or logit_variance_percentile not between 0 and 100
    or null_share_percentile not between 0 and 100
    or count_correlation_percentile not between 0 and 100
union all
select 'model ' || measured.set_id || ', L' || measured.layer || 'N' || measured.neuron || ': selectivity' as place
from store.selectivity as measured
left join (select distinct corpus_id, domain from store.sequences) as domains
    on domains.corpus_id = measured.corpus_id and domains.domain = measured.domain
where
    measured.n_active < 0
    or (measured.n_active = 0) <> (measured.domain is null)
    or (measured.domain is null) <> (domains.domain is null)
    or (measured.domain is null) <> (measured.domain_share is null)
    or measured.domain_share not between 0 and 1
    or measured.entropy not between 0 and 1
    or (measured.entropy is null) <> (measured.p is null)
    or (measured.entropy is null) <> (measured.n_shuffled_selective is null)
    or measured.p not between 1 / 201.0 - 1e-9 and 1
    or measured.n_shuffled_selective not between 0 and 20
union all
select 'model ' || massive.model_id || ', layer ' || massive.layer || ': massive activations' as place
from store.massive_activations as massive
inner join store.models as models on models.model_id = massive.model_id
left join store.sequences as inputs
    on inputs.corpus_id = massive.corpus_id and inputs.sequence_id = massive.input_sequence_id
left join store.sequences as outputs
    on outputs.corpus_id = massive.corpus_id and outputs.sequence_id = massive.output_sequence_id
where
    massive.input_mean < 0
    or massive.output_mean < 0
    or abs(massive.input_largest) < massive.input_mean * 0.9999
    or abs(massive.output_largest) < massive.output_mean * 0.9999
    or massive.input_neuron not between 0 and models.d_ffn - 1
    or massive.output_channel < 0
    or (massive.input_position between 0 and len(inputs.tokens) - 1) is not true
    or (massive.output_position between 0 and len(outputs.tokens) - 1) is not true
