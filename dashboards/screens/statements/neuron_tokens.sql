-- What one neuron promotes and suppresses, with scores.
select side, rank, token_id, token, score, z_score, corpus_count,
from neuron_tokens
where model = $model and layer = $layer and neuron = $neuron
order by side, rank
