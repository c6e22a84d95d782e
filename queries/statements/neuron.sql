-- Everything the view neurons says of one neuron.
select *,
from neurons
where model = $model and layer = $layer and neuron = $neuron
