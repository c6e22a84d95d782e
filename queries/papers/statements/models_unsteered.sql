-- Sizes of a family that continued no prompts with changed neurons, whose shown text has code and prose, with beginnings of
-- its code: the first tokens of as many of its sequences as are asked for.
with candidates as (
    select
        models.model_id,
        models.name,
        models.tokenizer_id,
        models.n_parameters,
        corpora.corpus_id,
    from store.models as models
    inner join measured_corpora as corpora on corpora.model_id = models.model_id and corpora.is_shown
    where
        list_contains($models::varchar[], models.name)
        and corpora.activation_rule is not null
        and not exists (select 1 from store.continuations as texts where texts.model_id = models.model_id)
        and 2 = (
            select count(distinct domain) from store.sequences as sequences
            where sequences.corpus_id = corpora.corpus_id and sequences.domain in ('code', 'prose')
        )
),
sequences as (
    select
        candidates.model_id,
        sequences.sequence_id,
        sequences.tokens,
    from candidates
    inner join store.sequences as sequences on sequences.corpus_id = candidates.corpus_id
    where sequences.domain = 'code'
    qualify row_number() over (partition by candidates.model_id order by sequences.sequence_id) <= $most
),
ids as (
    select
        model_id,
        sequence_id,
        unnest(tokens[:$length]) as token_id,
        generate_subscripts(tokens[:$length], 1) as place,
    from sequences
),
beginnings as (
    select
        ids.model_id,
        ids.sequence_id,
        string_agg(tokens.text, '' order by ids.place) as text,
    from ids
    inner join candidates on candidates.model_id = ids.model_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = candidates.tokenizer_id and tokens.token_id = ids.token_id and not tokens.is_special
    group by ids.model_id, ids.sequence_id
)
select
    candidates.name as model,
    list(beginnings.text order by beginnings.sequence_id) as prompts,
from candidates
inner join beginnings on beginnings.model_id = candidates.model_id
group by candidates.name, candidates.n_parameters
order by candidates.n_parameters, candidates.name
