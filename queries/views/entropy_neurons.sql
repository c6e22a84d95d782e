-- One row per model, layer and neuron: how little its value vector says in the vocabulary for its length, and how much it
-- follows token frequency.
-- Why: a long value vector that moves no logit against another acts through the final norm alone, whose divisor it raises:
-- predictions become less certain (entropy neurons). One whose scores follow the logarithm of token counts moves a prediction
-- towards, or away from, the distribution of single tokens (frequency neurons). In models with massive activations it also finds
-- what writes these: see massive_activations. From: store.entropy, which the job entropy fills, on the shown corpus. Source:
-- Stolfo et al. 2024, Gurnee et al. 2024; random vectors of the layer, and what is called so, are this project's.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   value_norm: L2 norm of the value vector.
--   logit_variance: Variance over the vocabulary of the cosines of its value vector with the rows of the unembedding, the final norm's gain taken in.
--   logit_variance_percentile: Share of the layer's random vectors with a smaller one, in percent; equal ones count half.
--   null_share: Share of its squared length in the directions that hold the smallest 1% of the squared norm of the unembedding, centred over tokens.
--   null_share_percentile: Share of the layer's random vectors with a smaller one, in percent; likewise.
--   is_entropy_neuron: That is 100, and it is at least as long as half of the layer's value vectors.
--   count_correlation: Correlation over tokens of its scores with ln(1 + corpus count).
--   count_correlation_percentile: Share of the layer's random vectors with a weaker one, whatever its sign, in percent; likewise.
--   is_frequency_neuron: That is 100, and it is at least as long as half of the layer's value vectors.
--   corpus: The shown corpus, whose counts they are.
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    entropy.layer,
    entropy.neuron,
    models.name || '/L' || entropy.layer || 'N' || entropy.neuron as address,
    facts.depth,
    facts.value_norm,
    entropy.logit_variance,
    entropy.logit_variance_percentile,
    entropy.null_share,
    entropy.null_share_percentile,
    facts.is_entropy_neuron,
    entropy.count_correlation,
    entropy.count_correlation_percentile,
    facts.is_frequency_neuron,
    measured_corpora.corpus,
from store.entropy as entropy
inner join store.models as models on models.model_id = entropy.set_id
inner join measured_corpora
    on measured_corpora.model_id = entropy.set_id and measured_corpora.corpus_id = entropy.corpus_id
left join store.neuron_facts as facts
    on facts.set_id = entropy.set_id and facts.layer = entropy.layer and facts.neuron = entropy.neuron
where measured_corpora.is_shown
