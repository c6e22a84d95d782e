-- Whether one token detector suppresses what triggers it, and whether chance would; no row for other neurons.
select
    suppression.n_detected,
    suppression.mean_score,
    suppression.suppresses,
    suppression.expected,
    suppression.mean_rank_from_bottom,
    suppression.corpus,
from suppression
where suppression.model = $model and suppression.layer = $layer and suppression.neuron = $neuron
