-- The first tokens that some neurons suppress, read at the rows where they lie.
select set_id as model_id, layer, neuron, 'suppressed' as side, bottom_token_ids[1:10] as token_ids,
from store.projections
where rowid in (select unnest($rows::bigint[]))
