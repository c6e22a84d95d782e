-- What ten neurons do to the token at the top before their FFN, by layer of one model and kind of sub-update.
select *,
from top_candidate_scores
where model = $model
order by kind, layer
