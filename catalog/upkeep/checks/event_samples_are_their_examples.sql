-- A model has the examples that its sample counts, the first ones are the event sample, and only these have random sub-updates.
with counts as (
    select model_id, corpus_id, count(*) as n_examples
    from store.examples
    group by model_id, corpus_id
),
wrong_samples as (
    select 'model ' || samples.model_id || ', corpus ' || samples.corpus_id as place
    from store.event_samples as samples
    left join counts on counts.model_id = samples.model_id and counts.corpus_id = samples.corpus_id
    where
        samples.n_examples <> coalesce(counts.n_examples, 0)
        or samples.n_examples > samples.n_sentences
        or samples.n_event_examples not between 0 and samples.n_examples
),
wrong_examples as (
    select 'model ' || examples.model_id || ', example ' || examples.example_id as place
    from store.examples as examples
    left join store.event_samples as samples
        on samples.model_id = examples.model_id and samples.corpus_id = examples.corpus_id
    where
        samples.model_id is null
        or examples.example_id not between 0 and samples.n_examples - 1
        or examples.in_event_sample <> (examples.example_id < samples.n_event_examples)
),
random_updates as (
    select distinct set_id, corpus_id, example_id
    from store.sub_updates
    where kind <> 'dominant'
),
wrong_updates as (
    select 'model ' || sets.model_id || ', random sub-updates of example ' || updates.example_id as place
    from random_updates as updates
    inner join store.unit_sets as sets on sets.set_id = updates.set_id
    left join store.examples as examples
        on
            examples.model_id = sets.model_id
            and examples.corpus_id = updates.corpus_id
            and examples.example_id = updates.example_id
    where examples.in_event_sample is distinct from true
)
select place from wrong_samples
union all
select place from wrong_examples
union all
select place from wrong_updates
