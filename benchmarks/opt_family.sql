-- Made-up measurements of one model of the shape $layers x $d_ffn by the default jobs, with as many rows a neuron as an
-- ingest writes. A neuron lists 50 tokens a side from a place drawn with the square of chance, so that few tokens are
-- listed by many neurons; its z-scores are normal quantiles' approximations at random places of their ranks.
insert into store.models by name
select
    $model as model_id, $name as name, 'opt' as family, 'made up' as source, 'w' || $model as weights_sha256,
    'opt' as architecture, 'relu' as activation, 'm != 0' as activation_rule, true as has_exact_zeros,
    'pre' as norm_position, 'learned' as position_encoding, $layers as n_layers, $d_model as d_model, $d_ffn as d_ffn,
    16 as n_heads, $vocabulary as vocab_size, 2048 as context_length,
    cast($layers as bigint) * 12 * $d_model * $d_model + $vocabulary * $d_model as n_parameters,
    cast($vocabulary as bigint) * $d_model as n_parameters_embedding, cast($layers as bigint) * $d_ffn as n_neurons,
    180000000000 as training_tokens, 0 as tokenizer_id;

insert into store.runs by name
select
    $model * 5 + i as run_id, 'k' || $model || '-' || i as run_key,
    ['projections', 'activity', 'contexts', 'ngrams', 'positions'][i + 1] as job, 1 as job_version,
    $model as model_id, case when i > 0 then 0 end as corpus_id, '{"activation_rule": "m != 0"}' as parameters,
    'float32' as dtype, timestamp '2026-01-01' as started_at, timestamp '2026-01-01' as finished_at, 1 as n_rows,
    '{}' as versions,
from range(5) as jobs (i);

create or replace temp table neurons as
select
    cast(layer as smallint) as layer, cast(neuron as integer) as neuron,
    cast(hash(layer, neuron, $model) % 1000003 as double) / 1000003 as chance,
    cast(hash(neuron, layer, $model, 1) % 1000003 as double) / 1000003 as kind,
    cast(hash(neuron, layer, $model, 2) % 1000003 as double) / 1000003 as width,
from range($layers) as layers (layer), range($d_ffn) as neurons (neuron)
order by layer, neuron;

insert into store.projections by name
select
    $model as set_id, layer, neuron, 1 + chance as value_norm, 0.01 * (kind - 0.5) as score_mean,
    0.05 + 0.2 * width as score_sd, chance - 0.5 as score_skewness, 4 * kind as score_kurtosis,
    0.4 + 0.2 * width as score_negative_share,
    list_transform(
        range(50),
        lambda i: cast(($vocabulary * chance * chance + i * (1 + floor(97 * kind))) as integer) % $vocabulary
    ) as top_token_ids,
    list_transform(
        range(50),
        lambda i: cast(
            0.01 * (kind - 0.5) + (0.05 + 0.2 * width)
            * sqrt(-2 * ln((i + (hash(layer, neuron, i) % 1000003) / 1000003.0 + 0.001) / $vocabulary)) as float
        )
    ) as top_scores,
    list_transform(
        range(50),
        lambda i: cast(($vocabulary * width * width + i * (1 + floor(89 * chance))) as integer) % $vocabulary
    ) as bottom_token_ids,
    list_transform(
        range(50),
        lambda i: cast(
            0.01 * (kind - 0.5) - (0.05 + 0.2 * width)
            * sqrt(-2 * ln((i + (hash(neuron, layer, i) % 1000003) / 1000003.0 + 0.001) / $vocabulary)) as float
        )
    ) as bottom_scores,
    chance - 0.01 as preactivation_bound, $model * 5 as run_id,
from neurons
order by layer, neuron;

-- A side at a time, as the table lies: both at once take twice the memory.
insert into store.postings by name
select
    set_id, token_id, 'promoted' as side, layer, neuron, rank, score,
    cast((score - score_mean) / score_sd as float) as z_score, run_id,
from (
    select
        set_id, layer, neuron, score_mean, score_sd, run_id, unnest(top_token_ids) as token_id,
        cast(unnest(range(1, 51)) as smallint) as rank, unnest(top_scores) as score,
    from store.projections
    where set_id = $model
)
order by /* the order of postings */ token_id;

insert into store.postings by name
select
    set_id, token_id, 'suppressed' as side, layer, neuron, rank, score,
    cast((score - score_mean) / score_sd as float) as z_score, run_id,
from (
    select
        set_id, layer, neuron, score_mean, score_sd, run_id, unnest(bottom_token_ids) as token_id,
        cast(unnest(range(1, 51)) as smallint) as rank, unnest(bottom_scores) as score,
    from store.projections
    where set_id = $model
)
order by /* the order of postings */ token_id;

insert into store.token_neighbours by name
select
    $model as model_id, cast(i as integer) as token_id, cast(j + 1 as smallint) as rank,
    cast(hash(i, j, $model) % $vocabulary as integer) as neighbour_id,
    cast(0.8 / (1 + 0.05 * j) + (hash(j, i) % 1000003) / 1e9 as float) as cosine, $model * 5 as run_id,
from range($vocabulary) as ids (i), range(20) as places (j)
order by i, j;

insert into store.activity by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, domain, 200000 as n_positions,
    case when chance < 0.05 then 0 else cast(200000 * power(chance, 4) as bigint) end as n_active, 0 as n_active_bos,
    0.0 as activation_bos, chance * 1000 as activation_sum, chance * 1000 as activation_abs_sum,
    kind * 500 as activation_square_sum, cast(0 as float) as activation_min,
    cast(case when chance < 0.05 then 0 else 5 * width end as float) as activation_max,
    list_transform([0.9, 0.5, 0.1, 0.01], lambda share: cast(200000 * power(chance, 4) * share as bigint)) as n_above,
    case when chance >= 0.05 then cast(1 / power(chance, 4) as bigint) end as first_active, $model * 5 + 1 as run_id,
from neurons, (values ('code'), ('prose'), ('web')) as domains (domain)
order by layer, neuron, domain;

insert into store.contexts by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, cast(i + 1 as smallint) as rank,
    cast(5 * width * (1 - 0.05 * i) as float) as activation,
    cast(hash(layer, neuron, i) % $sequences as integer) as sequence_id,
    cast(1 + hash(neuron, i, layer) % 2047 as integer) as position, $model * 5 + 2 as run_id,
from neurons, range(10) as places (i)
where chance >= 0.05
order by layer, neuron, rank;

insert into store.ngrams by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, cast(n as smallint) as n, n_active,
    1 + n_active // 20 * n as n_distinct, 1 + n_active // 2000 * n as n_covering_50,
    1 + n_active // 300 * n as n_covering_80, 1 + n_active // 100 * n as n_covering_90,
    case when kind < 0.03 and n = 1 then cast(1 + 150 * kind as bigint) else 1 + n_active // 50 * n end
        as n_covering_95,
    1 + n_active // 25 * n as n_covering_99, $model * 5 + 3 as run_id,
from (select *, case when chance < 0.05 then 0 else cast(600000 * power(chance, 4) as bigint) end as n_active from neurons),
    range(1, 4) as lengths (n)
order by layer, n, neuron;

insert into store.triggers by name
with places as (
    select n, rank,
    from (values (1, 64), (2, 5), (3, 5)) as lengths (n, n_ranks), range(1, n_ranks + 1) as ranks (rank)
)
select
    $model as set_id, 0 as corpus_id, layer, neuron, cast(n as smallint) as n, cast(rank as smallint) as rank,
    list_transform(range(n), lambda i: cast(hash(layer, neuron, rank, i) % 5000 as integer)) as token_ids,
    1 + cast(60000 * power(chance, 4) / (rank + 1) as bigint) as n_active,
    1 + cast(60000 * power(chance, 4) / (rank + 1) * case when kind < 0.03 then 1.02 else 3 end as bigint)
        as n_occurrences,
    case when n = 1 then cast(kind + (hash(neuron, rank) % 1000003) / 1e6 as float) end as score,
    case when n = 1 then cast(width + (hash(neuron, rank) % 1000003) / 1e6 as float) end as z_score,
    case when n = 1 then cast(kind + (hash(neuron, rank) % 1000003) / 1e6 as float) end as score_centred,
    case when n = 1 then cast(1 + hash(neuron, rank, layer) % $vocabulary as integer) end as rank_from_bottom,
    case
        when n = 1 and kind < 0.03 and rank <= 3
            then list_transform(range(100), lambda i: cast((hash(neuron, i) % 1000003) / 1e6 - 0.5 as float))
    end as control_scores,
    $model * 5 + 3 as run_id,
from neurons, places
where chance >= 0.05 and (rank <= 5 or n = 1 and (rank <= 10 or kind < 0.03))
order by layer, n, neuron, rank;

insert into store.ngram_spectrum by name
select
    $model as model_id, 0 as corpus_id, cast(n as smallint) as n, cast(i as bigint) as n_occurrences,
    cast(1 + 100000 * n / (i * i) as bigint) as n_distinct, $model * 5 + 3 as run_id,
from range(1, 4) as lengths (n), range(1, 300) as occurrences (i)
order by n, i;

create or replace temp macro made_counts(places, most, spread, chance, neuron) as
    list_transform(range(places), lambda i: cast(most * power(chance, 4) + hash(neuron, i) % spread as bigint));

insert into store.positions by name
select
    $model as set_id, 0 as corpus_id, layer, neuron, 'all' as domain, $sequences as n_sequences, 1 as first_position,
    0.2 * power(width, 16) as mutual_information, 0.2 * power(width, 16) as mutual_information_corrected,
    case when width > 0.98 then 3 else 0 end as n_switches, 0 as n_on_runs, 0 as n_off_runs, null as weakest_on,
    null as weakest_off, 0.01 * kind as roughness,
    made_counts(64, 32 * $sequences, 64, chance, neuron) as counts_64,
    case when width > 0.83 then made_counts(2047, $sequences, 16, chance, neuron) end as counts,
    $model * 5 + 4 as run_id,
from (
    -- In order before there are lists, which would take 10 GB.
    select *, list_sum(made_counts(64, 32 * $sequences, 64, chance, neuron)) as total,
    from neurons
    order by layer, total, neuron
);
