-- Each neuron was measured at as many positions of a domain as the domain has tokens, and fires at BOS at most once per sequence, where one is prepended.
with tokens as (
    select corpus_id, domain, sum(n_occurrences) as n_tokens from store.token_counts group by corpus_id, domain
),
begun as (
    select
        sequences.corpus_id,
        sequences.domain,
        count(case when tokenizers.bos_token_id is not null then 1 end) as n_bos
    from store.sequences as sequences
    inner join store.corpora as corpora on corpora.corpus_id = sequences.corpus_id
    inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = corpora.tokenizer_id
    group by sequences.corpus_id, sequences.domain
)
select
    'model ' || activity.set_id || ', layer ' || activity.layer || ', neuron ' || activity.neuron
    || ', domain ' || activity.domain as place
from store.activity as activity
left join tokens on tokens.corpus_id = activity.corpus_id and tokens.domain = activity.domain
left join begun on begun.corpus_id = activity.corpus_id and begun.domain = activity.domain
where
    activity.n_positions is distinct from tokens.n_tokens
    or activity.n_active_bos not between 0 and coalesce(begun.n_bos, 0)
