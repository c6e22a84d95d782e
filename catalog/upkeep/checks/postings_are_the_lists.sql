-- Every posting is an entry of its neuron's list, with its rank, score and z-score, and every entry has its posting.
-- Scores are kept to 24 bits, which matters where the mean is far from 0.
with listed as (
    select
        set_id as model_id, layer, neuron, 'promoted' as side,
        unnest(top_token_ids) as token_id, unnest(top_scores) as score,
        generate_subscripts(top_token_ids, 1) as rank, score_mean, score_sd
    from store.projections
    union all
    select
        set_id as model_id, layer, neuron, 'suppressed' as side,
        unnest(bottom_token_ids) as token_id, unnest(bottom_scores) as score,
        generate_subscripts(bottom_token_ids, 1) as rank, score_mean, score_sd
    from store.projections
)
select
    'model ' || coalesce(listed.model_id, postings.set_id)
    || ', layer ' || coalesce(listed.layer, postings.layer)
    || ', neuron ' || coalesce(listed.neuron, postings.neuron)
    || ', token ' || coalesce(listed.token_id, postings.token_id) as place
from listed
full join store.postings as postings
    on
        postings.set_id = listed.model_id
        and postings.token_id = listed.token_id
        and postings.side = listed.side
        and postings.layer = listed.layer
        and postings.neuron = listed.neuron
where
    listed.score is distinct from postings.score
    or listed.rank is distinct from postings.rank
    or abs(postings.z_score * listed.score_sd - (listed.score - listed.score_mean))
    > 1e-6 * (abs(listed.score) + abs(listed.score_mean) + abs(listed.score - listed.score_mean))
    or listed.score_sd = 0 and postings.z_score <> 0
