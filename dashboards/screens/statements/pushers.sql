-- The neurons of some models that pushed a word to the top for good.
select address, token, n_pushes, n_saturations, push_share, mean_score, mean_coefficient, mean_share, top_tokens, corpus,
from pushers
where list_contains($models::varchar[], model) and word = $word
order by n_pushes desc, mean_score desc, address
limit 500
