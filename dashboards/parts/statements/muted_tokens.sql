-- Tokens that lists show pale, by model, and why.
select model, token, reason,
from token_quality
where reason is not null
order by model, token_id
