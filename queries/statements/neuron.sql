-- Everything the view neurons says of one neuron but its lists, whose texts are read with all other tokens of the page.
select * exclude (top_tokens, bottom_tokens),
from neurons
where model = $model and layer = $layer and neuron = $neuron
