-- Both profiles of a neuron hold the same activations from the same number of sequences, and its information is corrected by them.
with profiles as (
    select
        positions.*,
        corpora.sequence_length - positions.first_position as n_positions,
        -- Positions with both outcomes; without a count of every position, at least one in a bin that is no multiple.
        coalesce(
            array_length(list_filter(positions.counts, lambda count: count between 1 and positions.n_sequences - 1)),
            array_length(list_filter(positions.counts_64, lambda count: count % nullif(positions.n_sequences, 0) > 0))
        ) as n_mixed,
        list_sum(positions.counts_64) as n_active,
    from store.positions as positions
    inner join store.corpora as corpora on corpora.corpus_id = positions.corpus_id
),
corrections as (
    select
        *,
        cast(n_active > 0 as integer) + cast(n_active < n_sequences * n_positions as integer) as n_outcomes,
        mutual_information_corrected - greatest(
            0, mutual_information - (n_mixed + 1 - n_outcomes) / nullif(2.0 * n_sequences * n_positions, 0)
        ) as excess,
    from profiles
)
select
    'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron || ', domain ' || domain as place
from corrections
where
    array_length(counts_64) <> least(64, n_positions)
    or array_length(counts) <> n_positions
    or list_min(counts_64) < 0
    or list_max(counts) > n_sequences
    or list_sum(counts) <> n_active
    or mutual_information < -1e-12
    or mutual_information > ln(2) + 1e-9
    or excess > 1e-9
    or counts is not null and excess < -1e-9
