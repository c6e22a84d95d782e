-- One row per model, method, state and annotator, and one for all annotators: how often a shortcut's top five are plausible.
-- Why: precision asks for the model's own token; a list may be plausible without it. From: store.plausibility_judgements of
-- lists that a shortcut gives on the shown corpus, store.shortcut_tops, store.shortcut_sentences,
-- store.shortcut_predictions, measured_corpora. Source: Din et al. 2023; that a list is plausible where at least one of its
-- tokens is a plausible continuation is our rule, and so are Wilson's intervals. A list that several methods or states gave
-- was judged once and counts for each; an annotator's latest judgement counts.
-- Kinds of rows: method; annotator, where all includes the others.
-- key: model, method, state, annotator
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   method: id: the state as it is; mat: its least-squares map to the last state.
--   state: The state that the shortcut starts from; from the last one every method is the model itself.
--   depth: state / n_layers.
--   annotator: Who judged, or all.
--   n_annotators: People behind the row.
--   n: Judgements: a list judged by two people counts twice.
--   n_plausible: Judgements that find the list plausible.
--   plausible_share: n_plausible / n.
--   plausible_share_low: Lower end of its Wilson 95% interval.
--   plausible_share_high: Upper end of it.
--   precision_1: Share of all validation sentences whose top token is the model's top token.
--   precision_1_gain: precision_1 of mat minus that of id at the state, on the same sentences; the same for both methods.
--   corpus: The shown corpus.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
latest as (
    select
        model_id,
        text,
        shown_token_ids,
        annotator,
        max(created_at) as created_at,
    from store.plausibility_judgements
    group by model_id, text, shown_token_ids, annotator
),
judged as (
    select
        judgements.judgement_id,
        judgements.model_id,
        judgements.text,
        judgements.shown_token_ids,
        judgements.is_plausible,
        judgements.annotator,
    from store.plausibility_judgements as judgements
    inner join latest
        on latest.model_id = judgements.model_id
        and latest.text = judgements.text
        and latest.shown_token_ids = judgements.shown_token_ids
        and latest.annotator = judgements.annotator
        and latest.created_at = judgements.created_at
),
places as (
    select
        judgement_id,
        model_id,
        text,
        shown_token_ids,
        is_plausible,
        annotator,
        unnest(generate_series(1, array_length(shown_token_ids))) as rank,
    from judged
),
matched as (
    -- A shortcut gives the list that was judged where it has each of its tokens in its place.
    select
        places.judgement_id,
        places.model_id,
        places.is_plausible,
        places.annotator,
        array_length(places.shown_token_ids) as n_listed,
        measured_corpora.corpus_id,
        measured_corpora.corpus,
        tops.sentence_id,
        tops.method,
        tops.state,
        count(*) as n_same,
    from places
    inner join measured_corpora on measured_corpora.model_id = places.model_id
    inner join store.shortcut_sentences as sentences
        on sentences.model_id = places.model_id
        and sentences.corpus_id = measured_corpora.corpus_id
        and sentences.text = places.text
    inner join store.shortcut_tops as tops
        on tops.model_id = places.model_id
        and tops.corpus_id = measured_corpora.corpus_id
        and tops.sentence_id = sentences.sentence_id
        and tops.rank = places.rank
        and tops.token_id = list_extract(places.shown_token_ids, places.rank)
    where measured_corpora.is_shown
    group by
        places.judgement_id,
        places.model_id,
        places.is_plausible,
        places.annotator,
        array_length(places.shown_token_ids),
        measured_corpora.corpus_id,
        measured_corpora.corpus,
        tops.sentence_id,
        tops.method,
        tops.state
),
counted as (
    select
        model_id,
        corpus_id,
        corpus,
        method,
        state,
        annotator,
        annotator as person,
        is_plausible,
    from matched
    where n_same = n_listed
    union all
    select
        model_id,
        corpus_id,
        corpus,
        method,
        state,
        'all' as annotator,
        annotator as person,
        is_plausible,
    from matched
    where n_same = n_listed
),
summed as (
    select
        model_id,
        corpus_id,
        corpus,
        method,
        state,
        annotator,
        count(distinct person) as n_annotators,
        count(*) as n,
        count(case when is_plausible then 1 end) as n_plausible,
    from counted
    group by model_id, corpus_id, corpus, method, state, annotator
),
shares as (
    select
        summed.model_id,
        summed.corpus_id,
        summed.corpus,
        summed.method,
        summed.state,
        summed.annotator,
        summed.n_annotators,
        summed.n,
        summed.n_plausible,
        cast(summed.n_plausible as double) / summed.n as share,
        power(thresholds.normal_975, 2) / summed.n as doubt,
    from summed
    cross join thresholds
),
gains as (
    select
        mat.model_id,
        mat.corpus_id,
        mat.state,
        mat.precision_1 - id.precision_1 as precision_1_gain,
    from store.shortcut_predictions as mat
    inner join store.shortcut_predictions as id
        on id.model_id = mat.model_id and id.corpus_id = mat.corpus_id and id.state = mat.state
    where mat.method = 'mat' and id.method = 'id'
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    shares.method,
    shares.state,
    cast(shares.state as double) / models.n_layers as depth,
    shares.annotator,
    shares.n_annotators,
    shares.n,
    shares.n_plausible,
    shares.share as plausible_share,
    (shares.share + shares.doubt / 2 - sqrt(shares.doubt * (shares.share * (1 - shares.share) + shares.doubt / 4)))
    / (1 + shares.doubt) as plausible_share_low,
    (shares.share + shares.doubt / 2 + sqrt(shares.doubt * (shares.share * (1 - shares.share) + shares.doubt / 4)))
    / (1 + shares.doubt) as plausible_share_high,
    predictions.precision_1,
    gains.precision_1_gain,
    shares.corpus,
from shares
inner join store.models as models on models.model_id = shares.model_id
left join store.shortcut_predictions as predictions
    on predictions.model_id = shares.model_id
    and predictions.corpus_id = shares.corpus_id
    and predictions.method = shares.method
    and predictions.state = shares.state
left join gains
    on gains.model_id = shares.model_id and gains.corpus_id = shares.corpus_id and gains.state = shares.state
