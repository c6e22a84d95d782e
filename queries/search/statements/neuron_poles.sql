-- To which pole a neuron leans: that of its largest coefficient on the shown corpus, else that of the longer tail of its scores.
select coalesce(nullif(activation_max + activation_min, 0), score_skewness) as leaning,
from store.neuron_facts
where model_id = $model_id and layer = $layer and neuron = $neuron
