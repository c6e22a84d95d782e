-- One row per model, intervention, method, set and prompt: the model's continuation of the prompt.
-- Why: to read what a changed model writes before a score of it is believed. From: store.continuations, which
-- `neurothek intervene MODEL --prompts FILE` fills. Source: Geva et al. 2022, section 6.1; random sets are this project's.
-- Kinds of rows: method.
-- key: model, intervention, method, set_number, prompt_number
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   intervention: Name of the intervention.
--   method: untouched, changed (the neurons asked for), random (a random set in their place), word_filter or self_debiasing.
--   set_number: Number of the random set, from 1; 0 for the other methods.
--   prompt_number: Number of the prompt, from 1.
--   prompt: The prompt.
--   continuation: What the model wrote after it.
--   n_tokens: Tokens of the continuation.
--   corpus: The shown corpus, by whose frequencies the random sets were drawn.
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    continuations.intervention,
    continuations.method,
    continuations.set_number,
    continuations.prompt_number,
    continuations.prompt,
    continuations.continuation,
    continuations.n_tokens,
    measured_corpora.corpus,
from store.continuations as continuations
inner join store.models as models on models.model_id = continuations.model_id
inner join measured_corpora
    on measured_corpora.model_id = continuations.model_id and measured_corpora.corpus_id = continuations.corpus_id
where measured_corpora.is_shown
