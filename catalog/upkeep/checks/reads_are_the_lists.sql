-- Every token that a search finds to be read is an entry of its reader's list, and every entry can be found so.
-- Scores are kept to 24 bits, which matters where the mean is far from 0.
with listed as (
    select
        set_id, layer, neuron, reader::varchar as reader, 'positive' as pole,
        unnest(top_token_ids) as token_id, unnest(top_scores) as score,
        generate_subscripts(top_token_ids, 1) as rank, score_mean, score_sd
    from store.key_projections
    union all
    select
        set_id, layer, neuron, reader::varchar as reader, 'negative' as pole,
        unnest(bottom_token_ids) as token_id, unnest(bottom_scores) as score,
        generate_subscripts(bottom_token_ids, 1) as rank, score_mean, score_sd
    from store.key_projections
    -- The sign of the other readers is no convention.
    where reader = 'up'
)
select
    'model ' || coalesce(listed.set_id, postings.set_id)
    || ', layer ' || coalesce(listed.layer, postings.layer)
    || ', neuron ' || coalesce(listed.neuron, postings.neuron)
    || ', ' || coalesce(listed.reader, postings.reader::varchar)
    || ', token ' || coalesce(listed.token_id, postings.token_id) as place
from listed
full join store.key_postings as postings
    on
        postings.set_id = listed.set_id
        and postings.token_id = listed.token_id
        and postings.reader = listed.reader
        and postings.pole = listed.pole
        and postings.layer = listed.layer
        and postings.neuron = listed.neuron
where
    listed.score is distinct from postings.score
    or listed.rank is distinct from postings.rank
    or abs(postings.z_score * listed.score_sd - (listed.score - listed.score_mean))
    > 1e-6 * (abs(listed.score) + abs(listed.score_mean) + abs(listed.score - listed.score_mean))
    or listed.score_sd = 0 and postings.z_score <> 0
