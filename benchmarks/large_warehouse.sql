-- Made-up measurements of one model of the shape $layers x $d_ffn, with as many rows a neuron as a real ingest writes
-- where pages read single neurons, layers or words: a million neurons over three models.
insert into store.models by name
select
    $model as model_id, 'made-up-' || $model as name, 'made-up' as family, 'made up' as source,
    'w' || $model as weights_sha256, 'opt' as architecture, 'relu' as activation, 'm != 0' as activation_rule,
    true as has_exact_zeros, 'pre' as norm_position, 'learned' as position_encoding, $layers as n_layers,
    1024 as d_model, $d_ffn as d_ffn, 16 as n_heads, $vocabulary as vocab_size, 2048 as context_length,
    cast($layers as bigint) * $d_ffn * 2048 + 50000000 as n_parameters, 50000000 as n_parameters_embedding,
    cast($layers as bigint) * $d_ffn as n_neurons, 1000000000 as training_tokens, 0 as tokenizer_id;

insert into store.runs by name
select
    $model * 10 + i as run_id, 'k' || $model || '-' || i as run_key,
    ['projections', 'activity', 'contexts', 'ngrams', 'positions', 'clusters'][i + 1] as job, 1 as job_version,
    $model as model_id, case when i in (0, 5) then null else 0 end as corpus_id,
    '{"activation_rule": "m != 0"}' as parameters, 'float32' as dtype, timestamp '2026-01-01' as started_at,
    timestamp '2026-01-01' as finished_at, 1 as n_rows, '{}' as versions,
from range(6) as jobs (i);

create or replace temp table neurons as
select
    cast(layer as smallint) as layer, cast(neuron as integer) as neuron,
    cast(hash(layer, neuron, $model) % 1000000 as double) / 1000000 as chance,
from range($layers) as layers (layer), range($d_ffn) as neurons (neuron)
order by layer, neuron;

insert into store.projections by name
select
    $model as set_id, layer, neuron, 1 + chance as value_norm, 0.0 as score_mean, 1.0 as score_sd,
    chance - 0.5 as score_skewness, 4 * chance as score_kurtosis, 0.5 as score_negative_share,
    list_transform(range(10), lambda i: cast(hash(layer, neuron, i) % $vocabulary as integer)) as top_token_ids,
    list_transform(range(10), lambda i: cast(10 - i as float)) as top_scores,
    list_transform(range(10), lambda i: cast(hash(neuron, layer, i) % $vocabulary as integer)) as bottom_token_ids,
    list_transform(range(10), lambda i: cast(i - 10 as float)) as bottom_scores,
    chance as preactivation_bound, $model * 10 as run_id,
from neurons;

insert into store.postings by name
select
    $model as set_id, cast(hash(layer, neuron, i) % $vocabulary as integer) as token_id, 'promoted' as side, layer,
    neuron, cast(i + 1 as smallint) as rank, cast(10 - i as float) as score,
    cast(10 - i + chance as float) as z_score, $model * 10 as run_id,
from neurons, range(10) as places (i)
order by token_id, side, rank;

insert into store.activity by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, domain, 1000000 as n_positions,
    case when chance < 0.05 then 0 else cast(1000000 * power(chance, 4) as bigint) end as n_active, 0 as n_active_bos,
    0.0 as activation_bos, chance as activation_sum, chance as activation_abs_sum, chance as activation_square_sum,
    cast(0 as float) as activation_min, cast(chance as float) as activation_max, [1, 1, 1, 1] as n_above,
    case when chance < 0.05 then null else cast(1 + 1000 * (1 - chance) as bigint) end as first_active,
    $model * 10 + 1 as run_id,
from neurons, (values ('code'), ('prose'), ('web')) as domains (domain)
order by layer, neuron, domain;

insert into store.contexts by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, cast(i + 1 as smallint) as rank, cast(3 - i as float) as activation,
    cast((neuron + i) % 100 as integer) as sequence_id, 5 as position, $model * 10 + 2 as run_id,
from neurons, range(3) as places (i)
order by layer, neuron, rank;

insert into store.ngrams by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, cast(n as smallint) as n,
    cast(1000000 * power(chance, 4) as bigint) as n_active, 500 as n_distinct, 2 as n_covering_50, 9 as n_covering_80,
    20 as n_covering_90, cast(1 + 2000 * chance as bigint) as n_covering_95, 400 as n_covering_99,
    $model * 10 + 3 as run_id,
from neurons, range(1, 4) as lengths (n)
order by layer, neuron, n;

insert into store.triggers by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, cast(1 as smallint) as n, cast(i + 1 as smallint) as rank,
    [cast(hash(layer, neuron, i) % $vocabulary as integer)] as token_ids, 90 as n_active, 100 as n_occurrences,
    cast(1 as float) as score, cast(1 as float) as z_score, cast(1 as float) as score_centred, 7 as rank_from_bottom,
    cast([] as float[]) as control_scores, $model * 10 + 3 as run_id,
from neurons, range(3) as places (i)
order by layer, neuron, rank;

insert into store.positions by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, 'all' as domain, 1000 as n_sequences, 1 as first_position,
    0.2 * power(chance, 8) as mutual_information, 0.2 * power(chance, 8) as mutual_information_corrected,
    1 as n_switches, 1 as n_on_runs, 0 as n_off_runs, 0.5 as weakest_on, null as weakest_off, 0.01 as roughness,
    list_transform(range(64), lambda i: cast(16 * i as bigint)) as counts_64, null as counts, $model * 10 + 4 as run_id,
from neurons
where chance > 0.05
order by layer, neuron;

insert into store.clusterings by name
select
    $model as clustering_id, $model as set_id, 'scalable' as method, 'complete' as linkage, 1000 as n_clusters_asked,
    1000 as n_clusters, $model * 10 + 5 as run_id;

insert into store.clusters by name
select
    $model as clustering_id, $model as set_id, layer, neuron, cast(1000 * chance as integer) as cluster_id,
    chance as centre_cosine, $model * 10 + 5 as run_id,
from neurons
order by layer, neuron;
