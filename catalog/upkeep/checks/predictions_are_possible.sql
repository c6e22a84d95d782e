-- An example has two streams per layer, saturates where its last streams say, and its shares are valid.
with layers as (
    select
        streams.model_id, streams.corpus_id, streams.example_id,
        count(*) as n_streams,
        max(case when streams.moment = 'post' and streams.top_token <> examples.final_token then streams.layer end)
            as last_other,
        max(case when streams.moment = 'post' then streams.layer end) as last_layer,
        max(streams.dominant_share) as largest_share,
        min(streams.final_token_rank) as smallest_rank
    from store.streams as streams
    inner join store.examples as examples
        on
            examples.model_id = streams.model_id
            and examples.corpus_id = streams.corpus_id
            and examples.example_id = streams.example_id
    group by streams.model_id, streams.corpus_id, streams.example_id
)
select 'model ' || examples.model_id || ', example ' || examples.example_id as place
from store.examples as examples
inner join store.models as models on models.model_id = examples.model_id
left join layers
    on
        layers.model_id = examples.model_id
        and layers.corpus_id = examples.corpus_id
        and layers.example_id = examples.example_id
where
    layers.n_streams is distinct from 2 * models.n_layers
    or layers.last_layer <> models.n_layers - 1
    or examples.saturation_layer is distinct from coalesce(layers.last_other + 1, 0)
    or layers.largest_share > 1 + 1e-6
    or layers.smallest_rank < 1
    or examples.final_probability not between 0 and 1
