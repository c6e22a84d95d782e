-- What one neuron's labels are made of, without its lists, whose ids are read elsewhere.
select * exclude (top_tokens, bottom_tokens) rename (set_id as model_id),
from store.neuron_facts
where set_id = $model_id and layer = $layer and neuron = $neuron
