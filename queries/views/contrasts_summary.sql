-- One row per model and contrast: two sets of prompts, and how many neurons tell them apart, beside shuffled labels.
-- Why: which contrasts there are, and whether their neurons are more than chance. From: store.contrasts, which
-- `neurothek contrast MODEL --keep NAME` fills. Source: contrastive neuron attribution (CNA, 2026); the control is this project's.
-- key: model, contrast
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   contrast: Name of the contrast.
--   prompts_a: What the prompts of A are: a file, or a set that comes with the package.
--   prompts_b: What those of B are.
--   positions: last: activations at the last own token of a prompt; all: their mean over its own tokens.
--   n_a: Prompts of A.
--   n_b: Prompts of B.
--   n_distinct: How many prompts of both together are distinct: where they are not, they are not independent, as q takes them to be.
--   n_tested: Neurons whose activation differs between prompts.
--   n_significant: Those of them with q of at most 0.05.
--   significant_share: n_significant / n_tested.
--   n_significant_shuffled: Neurons with q of at most 0.05 where shuffled labels are taken for the true ones: the mean.
--   n_significant_shuffled_most: The most of one of these shuffles.
--   n_controls: How many these are.
--   n_shuffles: Shuffles that p is taken from.
--   seed: Seed of all shuffles.
--   corpus: The shown corpus.
with prompts as (
    select
        model_id,
        corpus_id,
        contrast,
        count(distinct prompt) as n_distinct,
    from store.contrast_prompts
    group by model_id, corpus_id, contrast
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    contrasts.contrast,
    contrasts.prompts_a,
    contrasts.prompts_b,
    contrasts.positions,
    contrasts.n_a,
    contrasts.n_b,
    prompts.n_distinct,
    contrasts.n_tested,
    contrasts.n_significant,
    cast(contrasts.n_significant as double) / nullif(contrasts.n_tested, 0) as significant_share,
    contrasts.n_significant_shuffled,
    contrasts.n_significant_shuffled_most,
    contrasts.n_controls,
    contrasts.n_shuffles,
    contrasts.seed,
    measured_corpora.corpus,
from store.contrasts as contrasts
inner join store.models as models on models.model_id = contrasts.model_id
inner join measured_corpora
    on measured_corpora.model_id = contrasts.model_id and measured_corpora.corpus_id = contrasts.corpus_id
inner join prompts
    on
        prompts.model_id = contrasts.model_id
        and prompts.corpus_id = contrasts.corpus_id
        and prompts.contrast = contrasts.contrast
where measured_corpora.is_shown
