-- Every neuron's histogram counts each token of the vocabulary once, and a run that has any has one for each neuron.
with vocabularies as (
    select models.model_id, count(*) as n_tokens
    from store.models as models
    inner join store.tokens as tokens on tokens.tokenizer_id = models.tokenizer_id
    group by models.model_id
),
wrong as (
    select histograms.set_id as model_id, histograms.layer, histograms.neuron
    from store.logit_histograms as histograms
    left join vocabularies on vocabularies.model_id = histograms.set_id
    where
        array_length(histograms.counts) <> 66
        or list_min(histograms.counts) < 0
        or list_sum(histograms.counts) is distinct from vocabularies.n_tokens
),
absent as (
    select projections.set_id as model_id, projections.layer, projections.neuron
    from store.projections as projections
    anti join store.logit_histograms as histograms
        on
            histograms.run_id = projections.run_id
            and histograms.layer = projections.layer
            and histograms.neuron = projections.neuron
    where projections.run_id in (select run_id from store.logit_histograms)
)
select 'model ' || model_id || ', layer ' || layer || ', neuron ' || neuron as place
from (from wrong union from absent)
