-- The neurons whose value vectors point most nearly in the direction of one neuron's.
select rank, other_address as address, cosine, other_top_tokens as top_tokens,
from neighbours
where model = $model and layer = $layer and neuron = $neuron
order by rank
