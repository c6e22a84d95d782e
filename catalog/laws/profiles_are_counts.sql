-- Both profiles of a neuron hold the same activations, and no position more than there are sequences.
select
    'model ' || model_id || ', layer ' || layer || ', neuron ' || neuron || ', domain ' || domain as place
from store.positions
where
    array_length(counts_64) > 64
    or list_min(counts_64) < 0
    or list_max(counts) > n_sequences
    or list_sum(counts) <> list_sum(counts_64)
    or mutual_information < -1e-12
    or mutual_information > ln(2) + 1e-9
    -- One or two sequences leave positions with one outcome: the correction is then at least -1 / (2 N).
    or mutual_information_corrected - mutual_information
        > 0.5 / (n_sequences * coalesce(array_length(counts), array_length(counts_64))) + 1e-12
