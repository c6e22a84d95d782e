-- One row per model, condition and annotator, and one for all people together: how much of a list falls under a concept.
-- Why: Table 2 of Geva et al. 2022: many of the highest tokens of value vectors fall under a concept that a person can
-- name; the same share for random vectors and for FFN updates is the share expected by chance. From: judgements.
-- Source: Geva et al. 2022, section 4; each judgement of a vector counts once, so that one judged by two people counts
-- twice where all people are together [ours]. The annotator rules is a program: it has rows of its own and is not among
-- all. Intervals are ours: of shares of judgements Wilson's; of shares of tokens the normal one of the mean over
-- judgements, as tokens of one list are not independent. Near 0 and 1 it may reach beyond them.
-- Kinds of rows: condition; annotator, where all includes the others but rules.
-- key: model, condition, annotator
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   size: Parameters of the model without embeddings.
--   condition: value: value vectors; random: random vectors; ffn_update: outputs of whole FFNs.
--   annotator: Who annotated; rules: a program; all: all people, without rules.
--   n_annotators: Annotators behind the row.
--   n_vectors: Vectors that they judged, each counted once.
--   n_judgements: Judgements: a vector judged by two people counts twice.
--   n_top_tokens: Tokens that were judged.
--   n_tokens: Tokens that are tied to a concept.
--   token_share: n_tokens / n_top_tokens.
--   token_share_low: Lower end of its normal 95% interval over judgements; null for a single one.
--   token_share_high: Upper end of it.
--   n_tokens_without_stopwords: Tokens tied to a concept of another class than stopwords-punctuation.
--   token_share_without_stopwords: n_tokens_without_stopwords / n_top_tokens.
--   token_share_without_stopwords_low: Lower end of its normal 95% interval over judgements; null for a single one.
--   token_share_without_stopwords_high: Upper end of it.
--   n_with_concept: Judgements that name a concept.
--   with_concept_share: n_with_concept / n_judgements.
--   with_concept_share_low: Lower end of its Wilson 95% interval.
--   with_concept_share_high: Upper end of it.
--   n_concepts: Concepts that were named.
--   concepts_per_vector: n_concepts / n_judgements.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
counted as (
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
    where annotator <> 'rules'
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
        stddev_samp(cast(n_tokens as double) / n_shown) as token_share_sd,
        cast(sum(n_tokens_without_stopwords) as bigint) as n_tokens_without_stopwords,
        stddev_samp(cast(n_tokens_without_stopwords as double) / n_shown) as without_stopwords_sd,
        count(nullif(n_concepts, 0)) as n_with_concept,
        cast(sum(n_concepts) as bigint) as n_concepts,
    from counted
    group by model, condition, annotator
),
shares as (
    select
        summed.model,
        summed.condition,
        summed.annotator,
        cast(summed.n_tokens as double) / summed.n_top_tokens as token_share,
        thresholds.normal_975 * summed.token_share_sd / sqrt(summed.n_judgements) as half_tokens,
        cast(summed.n_tokens_without_stopwords as double) / summed.n_top_tokens as token_share_without_stopwords,
        thresholds.normal_975 * summed.without_stopwords_sd / sqrt(summed.n_judgements) as half_without,
        cast(summed.n_with_concept as double) / summed.n_judgements as with_concept_share,
        power(thresholds.normal_975, 2) / summed.n_judgements as doubt,
    from summed
    cross join thresholds
),
steps as (
    select
        model,
        condition,
        annotator,
        1 + doubt as widened,
        with_concept_share + doubt / 2 as centre,
        sqrt(doubt * (with_concept_share * (1 - with_concept_share) + doubt / 4)) as half_width,
    from shares
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
    shares.token_share,
    shares.token_share - shares.half_tokens as token_share_low,
    shares.token_share + shares.half_tokens as token_share_high,
    summed.n_tokens_without_stopwords,
    shares.token_share_without_stopwords,
    shares.token_share_without_stopwords - shares.half_without as token_share_without_stopwords_low,
    shares.token_share_without_stopwords + shares.half_without as token_share_without_stopwords_high,
    summed.n_with_concept,
    shares.with_concept_share,
    (steps.centre - steps.half_width) / steps.widened as with_concept_share_low,
    (steps.centre + steps.half_width) / steps.widened as with_concept_share_high,
    summed.n_concepts,
    cast(summed.n_concepts as double) / summed.n_judgements as concepts_per_vector,
from summed
inner join shares
    on shares.model = summed.model
    and shares.condition = summed.condition
    and shares.annotator = summed.annotator
inner join steps
    on steps.model = summed.model and steps.condition = summed.condition and steps.annotator = summed.annotator
inner join store.models as models on models.name = summed.model
