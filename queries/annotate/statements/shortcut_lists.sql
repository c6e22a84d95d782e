-- The tokens that each shortcut of one model puts first at each state, sentence by sentence.
select
    sentence_id,
    method,
    state,
    any_value(sentence) as text,
    list(token_id order by rank) as token_ids,
    list(token order by rank) as tokens,
from shortcut_readings
where model = $model and rank <= $n_listed
group by sentence_id, method, state
order by sentence_id, method, state
