-- What one neuron's labels are made of, without its lists, whose ids are read elsewhere.
select * exclude (top_tokens, bottom_tokens),
from store.neuron_facts
where model_id = $model_id and layer = $layer and neuron = $neuron
