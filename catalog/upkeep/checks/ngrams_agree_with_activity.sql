-- Coverage rises with the share covered, and tokens trigger a neuron about as often as it is active.
with active as (
    select set_id as model_id, corpus_id, layer, neuron, sum(n_active) as n_active, sum(n_positions) as n_positions
    from store.activity
    group by set_id, corpus_id, layer, neuron
)
select 'model ' || ngrams.set_id || ', layer ' || ngrams.layer || ', neuron ' || ngrams.neuron
    || ', n ' || ngrams.n as place
from store.ngrams as ngrams
left join active
    on
        active.model_id = ngrams.set_id
        and active.corpus_id = ngrams.corpus_id
        and active.layer = ngrams.layer
        and active.neuron = ngrams.neuron
where
    ngrams.n_covering_50 > ngrams.n_covering_80
    or ngrams.n_covering_80 > ngrams.n_covering_90
    or ngrams.n_covering_90 > ngrams.n_covering_95
    or ngrams.n_covering_95 > ngrams.n_covering_99
    or ngrams.n_covering_99 > ngrams.n_distinct
    or ngrams.n_distinct > ngrams.n_active
    -- Two sweeps may differ where a pre-activation is next to 0: below 760 in a million even in bfloat16.
    or (ngrams.n = 1 and abs(ngrams.n_active - active.n_active) > 1 + active.n_positions / 1000)
    or (ngrams.n > 1 and ngrams.n_active > active.n_active + 1 + active.n_positions / 1000)
