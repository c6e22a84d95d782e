-- Each neuron was looked at as many positions of a domain as the domain has tokens.
with tokens as (
    select corpus_id, domain, sum(n_occurrences) as n_tokens from store.token_counts group by corpus_id, domain
)
select
    'model ' || activity.model_id || ', layer ' || activity.layer || ', neuron ' || activity.neuron
    || ', domain ' || activity.domain as place
from store.activity as activity
left join tokens on tokens.corpus_id = activity.corpus_id and tokens.domain = activity.domain
where activity.n_positions is distinct from tokens.n_tokens
