-- A reading is of a validation sentence, its probabilities are valid, and its list is sorted and begins with its top token.
select 'model ' || readings.model_id || ', sentence ' || readings.sentence_id || ', ' || readings.method as place
from store.shortcut_readings as readings
left join store.shortcut_sentences as sentences
    on sentences.run_id = readings.run_id and sentences.sentence_id = readings.sentence_id
where
    sentences.is_validation is distinct from true
    or readings.top_probability not between 0 and 1 + 1e-6
    or readings.second_probability not between 0 and readings.top_probability + 1e-6
    or readings.rank_in_model < 1
    or readings.surprisal < -1e-5
union all
select 'model ' || tops.model_id || ', sentence ' || tops.sentence_id || ', ' || tops.method as place
from store.shortcut_tops as tops
left join store.shortcut_readings as readings
    on
        readings.run_id = tops.run_id
        and readings.sentence_id = tops.sentence_id
        and readings.method = tops.method
        and readings.state = tops.state
where tops.rank = 1 and readings.top_token is distinct from tops.token_id
union all
select 'model ' || model_id || ', sentence ' || sentence_id || ', ' || method as place
from (
    select
        model_id, sentence_id, method, probability,
        lag(probability) over (partition by run_id, sentence_id, method, state order by rank) as better
    from store.shortcut_tops
)
where probability > better
