-- A neuron raised a token if its score exceeds what it adds to every token alike: counted anew for what lies in the file.
with pushed as (
    select
        sub_updates.model_id,
        sub_updates.layer,
        sub_updates.neuron,
        count(*) filter (
            examples.saturation_by_ffn
            and examples.saturation_layer = sub_updates.layer
            and sub_updates.score_final > sub_updates.coefficient::double * coalesce(projections.score_mean, 0)
        ) as times_saturating
    from store.sub_updates as sub_updates
    inner join store.examples as examples
        on examples.model_id = sub_updates.model_id
        and examples.corpus_id = sub_updates.corpus_id
        and examples.example_id = sub_updates.example_id
    inner join store.neuron_facts as facts
        on facts.model_id = sub_updates.model_id
        and facts.corpus_id = sub_updates.corpus_id
        and facts.layer = sub_updates.layer
        and facts.neuron = sub_updates.neuron
    left join store.projections as projections
        on projections.model_id = sub_updates.model_id
        and projections.layer = sub_updates.layer
        and projections.neuron = sub_updates.neuron
    where sub_updates.kind = 'dominant' and sub_updates.coefficient <> 0
    group by sub_updates.model_id, sub_updates.layer, sub_updates.neuron
)
update store.neuron_facts as facts
set times_saturating = pushed.times_saturating
from pushed
where pushed.model_id = facts.model_id and pushed.layer = facts.layer and pushed.neuron = facts.neuron;
comment on column store.neuron_facts.times_saturating is 'Examples whose saturation its layer''s FFN brought about while it was dominant and its score for the final token exceeded what it adds to every token alike.';
