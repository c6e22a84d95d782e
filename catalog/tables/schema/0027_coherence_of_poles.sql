-- At coefficients below 0 a neuron of a gated model promotes other tokens, which are alike in their own way.
alter table store.coherences add column negative_coherence double;
alter table store.coherences add column negative_coherence_z double;
alter table store.coherences add column negative_coherence_percentile double;
comment on column store.coherences.negative_coherence is 'Coherence of what a neuron of a gated model promotes at coefficients below 0; null in other models.';
comment on column store.coherences.negative_coherence_z is 'The same less the mean over the layer''s 500 random vectors, over their standard deviation.';
comment on column store.coherences.negative_coherence_percentile is 'Share of these random vectors with a smaller coherence, in percent; equal ones count half.';
comment on column store.neuron_facts.coherence is 'Coherence of the tokens that it promotes on the shown corpus, of a gated model at the sign of its largest coefficient.';
comment on column store.neuron_facts.top_token_log_frequency is 'Mean natural logarithm of (1 + corpus count) over the listed tokens that it promotes, of a gated model at the sign of its largest coefficient.';
-- What was measured before is that of coefficients above 0 alone.
update store.neuron_facts as facts
set coherence = null, coherence_z = null, coherence_percentile = null
from store.models as models
where
    models.model_id = facts.model_id
    and models.activation_rule = 'gate > 0'
    and coalesce(nullif(facts.activation_max + facts.activation_min, 0), facts.score_skewness) < 0;
