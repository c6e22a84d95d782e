-- How many token detectors of some models suppress their triggers, and how many would by chance.
select
    suppression.model,
    suppression.n_detectors,
    suppression.n_suppressing,
    suppression.observed,
    suppression.observed_low,
    suppression.observed_high,
    suppression.expected,
    suppression.difference,
    suppression.observed_centred,
    suppression.corpus,
from suppression_by_model as suppression
inner join models on models.model = suppression.model
where list_contains($models::varchar[], suppression.model)
order by
    models.size,
    regexp_extract(models.variant, '^\D+') nulls first,
    try_cast(regexp_extract(models.variant, '\d+$') as bigint) nulls first,
    suppression.model
