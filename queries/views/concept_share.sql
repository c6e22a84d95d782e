-- One row per model, condition and annotator, and one for all annotators together: how much of a list falls under a concept.
-- Why: Table 2 of Geva et al. 2022: many of the highest tokens of value vectors fall under a concept that a person can
-- name; the same share for random vectors and for FFN updates says how many do so by chance. From: judgements. Source:
-- Geva et al. 2022, section 4; each judgement of a vector counts once, so that one judged by two people counts twice
-- where all annotators are together [ours].
-- Kinds of rows: condition; annotator, where all includes the others.
-- key: model, condition, annotator
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   size: Parameters of the model without embeddings.
--   condition: value: value vectors; random: random vectors; ffn_update: outputs of whole FFNs.
--   annotator: Who annotated, or all.
--   n_annotators: People behind the row.
--   n_vectors: Vectors that they judged, each counted once.
--   n_judgements: Judgements: a vector judged by two people counts twice.
--   n_top_tokens: Tokens that were judged.
--   n_tokens: Tokens that are tied to a concept.
--   token_share: n_tokens / n_top_tokens.
--   n_tokens_without_stopwords: Tokens tied to a concept of another class than stopwords-punctuation.
--   token_share_without_stopwords: n_tokens_without_stopwords / n_top_tokens.
--   n_with_concept: Judgements that name a concept.
--   with_concept_share: n_with_concept / n_judgements.
--   n_concepts: Concepts that were named.
--   concepts_per_vector: n_concepts / n_judgements.
with counted as (
    select
        model,
        condition,
        annotator,
        annotator as person,
        layer,
        number,
        shown_token_ids,
        n_shown,
        n_concepts,
        n_tokens,
        n_tokens_without_stopwords,
    from judgements
    union all
    select
        model,
        condition,
        'all' as annotator,
        annotator as person,
        layer,
        number,
        shown_token_ids,
        n_shown,
        n_concepts,
        n_tokens,
        n_tokens_without_stopwords,
    from judgements
),
summed as (
    select
        model,
        condition,
        annotator,
        count(distinct person) as n_annotators,
        count(distinct (layer, number, shown_token_ids)) as n_vectors,
        count(*) as n_judgements,
        cast(sum(n_shown) as bigint) as n_top_tokens,
        cast(sum(n_tokens) as bigint) as n_tokens,
        cast(sum(n_tokens_without_stopwords) as bigint) as n_tokens_without_stopwords,
        count(nullif(n_concepts, 0)) as n_with_concept,
        cast(sum(n_concepts) as bigint) as n_concepts,
    from counted
    group by model, condition, annotator
)
select
    models.name as model,
    models.family,
    models.size,
    summed.condition,
    summed.annotator,
    summed.n_annotators,
    summed.n_vectors,
    summed.n_judgements,
    summed.n_top_tokens,
    summed.n_tokens,
    cast(summed.n_tokens as double) / summed.n_top_tokens as token_share,
    summed.n_tokens_without_stopwords,
    cast(summed.n_tokens_without_stopwords as double) / summed.n_top_tokens as token_share_without_stopwords,
    summed.n_with_concept,
    cast(summed.n_with_concept as double) / summed.n_judgements as with_concept_share,
    summed.n_concepts,
    cast(summed.n_concepts as double) / summed.n_judgements as concepts_per_vector,
from summed
inner join store.models as models on models.name = summed.model
