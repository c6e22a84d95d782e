-- A histogram counts every position once, from the first bin with any to the last, and there is one for every neuron.
with places as (
    select
        'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron as place,
        set_id as model_id, corpus_id, n_positions, first_bin, counts
    from store.activation_histograms
),
rows_of_models as (
    select measured.set_id as model_id, measured.corpus_id, count(*) as n_rows
    from store.activation_histograms as measured
    group by measured.set_id, measured.corpus_id
)
select places.place
from places
left join store.corpora as corpora on corpora.corpus_id = places.corpus_id
where
    list_sum(places.counts) is distinct from places.n_positions
    or list_min(places.counts) < 0
    or places.counts[1] = 0
    or places.counts[-1] = 0
    or places.first_bin < -34
    or places.first_bin + array_length(places.counts) - 1 > 34
    or places.n_positions > coalesce(corpora.n_tokens, 0)
union all
select 'model ' || rows_of_models.model_id || ': ' || rows_of_models.n_rows || ' histograms' as place
from rows_of_models
left join store.models as models on models.model_id = rows_of_models.model_id
where rows_of_models.n_rows is distinct from models.n_layers::bigint * models.d_ffn
