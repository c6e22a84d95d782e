-- How the scores of all tokens spread in one neuron's value vector.
select bin, z_from, z_to, n_tokens,
from logit_histograms
where model = $model and layer = $layer and neuron = $neuron
order by bin
