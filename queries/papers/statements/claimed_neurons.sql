-- How many neurons of each layer are what, with sums of their frequency and of the logarithm of their coverage.
select
    neurons.model,
    neurons.layer,
    any_value(models.n_layers) as n_layers,
    neurons.is_dead,
    case
        when neurons.token_status <> 'too few activations' then neurons.unigrams_95 <= $most_tokens
    end as is_covered_by_few,
    neurons.is_token_detector,
    neurons.position_kind,
    neurons.position_strength,
    coalesce(profiles.roughness <= $strong_roughness, false) as is_smooth,
    count(*) as n,
    count(neurons.frequency) as frequency_n,
    coalesce(sum(neurons.frequency), 0) as frequency_sum,
    coalesce(sum(neurons.frequency * neurons.frequency), 0) as frequency_squares,
    count(*) filter (neurons.token_status <> 'too few activations' and neurons.unigrams_95 > 0) as coverage_n,
    coalesce(sum(log10(neurons.unigrams_95)) filter (
        neurons.token_status <> 'too few activations' and neurons.unigrams_95 > 0
    ), 0) as coverage_sum,
    coalesce(sum(pow(log10(neurons.unigrams_95), 2)) filter (
        neurons.token_status <> 'too few activations' and neurons.unigrams_95 > 0
    ), 0) as coverage_squares,
from neurons
inner join models on models.model = neurons.model
left join positional_neurons as profiles
    on profiles.model = neurons.model and profiles.layer = neurons.layer and profiles.neuron = neurons.neuron
where list_contains($models::varchar[], neurons.model) and neurons.n_tokens_seen is not null
group by
    neurons.model,
    neurons.layer,
    neurons.is_dead,
    is_covered_by_few,
    neurons.is_token_detector,
    neurons.position_kind,
    neurons.position_strength,
    is_smooth
order by all
