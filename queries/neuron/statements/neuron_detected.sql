-- How many n-grams of each length one neuron detects in its model's shown corpus.
select n, count(*) as n_detected, bool_and(is_strict) as is_strict,
from detected_ngrams
where model_id = $model_id and layer = $layer and neuron = $neuron
group by n
