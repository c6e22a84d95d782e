-- One row per model and kind of neurons that was turned off: the increase of the loss on the shown corpus without it.
-- Why: whether the kinds that neurons are sorted into matter to the model, and to which size of it. From: interventions,
-- which `neurothek intervene MODEL --each kind` fills. Source: this project; the kinds are those of Voita et al. 2023 and
-- Geva et al. 2022.
-- Kinds of rows: kind.
-- key: model, kind
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   kind: dead (negligible, of models without exact zeros), token detectors, n-gram detectors (of two or three tokens), positional, or dominant (the hundredth that is dominant most often).
--   n_neurons: Neurons of the kind.
--   neuron_share: n_neurons over all neurons of the model.
--   effect: What turning them off adds to the loss, nats a token.
--   random_effect: The mean of this over random sets of the same size, matched by layer and frequency.
--   random_effect_least: The least of it.
--   random_effect_most: The largest of it.
--   percentile: Percent of the random sets whose effect is smaller; of equal ones half counts; null of fewer than 20 sets.
--   worth: effect - random_effect: what the kind is worth beyond its layers and its frequency.
--   kl: Mean divergence KL(untouched || changed) of the predictions, nats.
--   n_sets: Random sets.
--   n_tokens: Tokens that were predicted.
--   corpus: The shown corpus.
select
    model,
    family,
    variant,
    size,
    kind,
    n_neurons,
    neuron_share,
    effect,
    random_effect,
    random_effect_least,
    random_effect_most,
    percentile,
    effect - random_effect as worth,
    kl,
    n_sets,
    n_tokens,
    corpus,
from interventions
where kind is not null and how = 'set' and value = 0 and moment = 'after' and positions is null
