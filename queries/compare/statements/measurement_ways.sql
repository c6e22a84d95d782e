-- How some models were measured on the corpora chosen for them: what decides whether they may be compared.
with chosen as (
    select
        unnest($models::varchar[]) as model,
        unnest($corpus_ids::integer[]) as corpus_id,
)
select
    measured_corpora.model,
    models.family,
    models.size,
    models.variant,
    measured_corpora.corpus,
    measured_corpora.text_sha256,
    measured_corpora.sequence_length,
    measured_corpora.activation_rule,
    measured_corpora.counting_rule,
    measured_corpora.dtype,
    measured_corpora.n_tokens,
from measured_corpora
inner join store.models as models on models.model_id = measured_corpora.model_id
inner join chosen on chosen.model = measured_corpora.model and chosen.corpus_id = measured_corpora.corpus_id
where measured_corpora.dtype is not null
order by measured_corpora.model
