-- What is written after each prompt by every method, side by side; of the random sets the first.
select
    prompt_number,
    prompt,
    max(case when method = 'untouched' then continuation end) as untouched,
    max(case when method = 'changed' then continuation end) as changed,
    max(case when method = 'random' and set_number = 1 then continuation end) as random,
    max(case when method = 'word_filter' then continuation end) as word_filter,
    max(case when method = 'self_debiasing' then continuation end) as self_debiasing,
from continuations
where model = $model and intervention = $intervention
group by prompt_number, prompt
order by prompt_number
