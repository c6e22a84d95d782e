-- The neurons whose value vectors point most nearly as one neuron's does.
select rank, other_address as address, cosine, other_top_tokens as top_tokens,
from neighbours
where model = $model and layer = $layer and neuron = $neuron
order by rank
