-- How many continuations have an attribute, by method, for every intervention on texts; with the settings of the run that
-- wrote them, which name the unwanted attribute, and what became of the perplexity that Geva et al.'s code computes.
with written as (
    select distinct
        models.name as model,
        texts.intervention,
        runs.parameters,
    from store.continuations as texts
    inner join store.models as models on models.model_id = texts.model_id
    inner join measured_corpora as corpora
        on corpora.model_id = texts.model_id and corpora.corpus_id = texts.corpus_id and corpora.is_shown
    inner join store.runs as runs on runs.run_id = texts.run_id
)
select
    shares.model,
    shares.intervention,
    shares.scorer,
    shares.attribute,
    shares.method,
    shares.n_sets,
    shares.n_continuations,
    shares.share,
    shares.share_least,
    shares.share_most,
    written.parameters,
    interventions.window_perplexity_untouched as perplexity_untouched,
    interventions.window_perplexity as perplexity,
from attribute_shares as shares
inner join written on written.model = shares.model and written.intervention = shares.intervention
left join interventions
    on interventions.model = shares.model and interventions.intervention = shares.intervention
where list_contains($models::varchar[], shares.model)
order by shares.model, shares.intervention, shares.scorer, shares.attribute, shares.method
