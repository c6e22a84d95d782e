-- A neuron is active at most as often as it was measured, and its sums, extremes and counts agree with each other.
select
    'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron || ', domain ' || domain as place
from store.activity
where
    n_active not between 0 and n_positions
    or n_above[1] > n_positions
    or n_above[1] < n_above[2]
    or n_above[2] < n_above[3]
    or n_above[3] < n_above[4]
    or abs(activation_sum) > activation_abs_sum * (1 + 1e-6) + 1e-9
    or activation_abs_sum * activation_abs_sum > n_positions * activation_square_sum * (1 + 1e-6) + 1e-9
    or activation_min > activation_max
    or (first_active is null) <> (n_active = 0)
    or first_active not between 0 and n_positions - 1
