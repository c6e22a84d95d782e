-- Made-up predictions of one model of the shape $layers x $d_ffn: events, linear shortcuts, exits, and what people name.
insert into store.runs by name
select
    $model * 10 + i as run_id, 'k' || $model || '-' || i as run_key,
    ['events', 'shortcuts', 'exits'][i - 5] as job, 1 as job_version, $model as model_id, 0 as corpus_id,
    '{"activation_rule": "m != 0"}' as parameters, 'float32' as dtype, timestamp '2026-01-01' as started_at,
    timestamp '2026-01-01' as finished_at, 1 as n_rows, '{}' as versions,
from range(6, 9) as jobs (i);

create or replace temp table examples as
select
    cast(i as integer) as example_id, cast(hash(i, $model) % $layers as smallint) as saturation_layer,
    cast(hash(i, $model, 1) % $layers as smallint) as elimination_layer, cast(4 + hash(i) % 200 as integer) as final_token,
from range(2000) as ids (i);

insert into store.examples by name
select
    $model as model_id, 0 as corpus_id, example_id, 'prose' as domain, [2, 4, 5] as tokens, 2 as n_prefix_tokens,
    final_token, 0.5 as final_probability, null as target_token, null as target_probability, saturation_layer,
    saturation_layer < $layers - 1 as saturation_by_ffn, elimination_layer, true as in_event_sample,
    $model * 10 + 6 as run_id,
from examples;

insert into store.event_samples by name
select
    $model as model_id, 0 as corpus_id, 0 as seed, 2000 as n_sentences, 2000 as n_examples, 2000 as n_event_examples,
    1.0 as extreme_score, $model * 10 + 6 as run_id;

insert into store.events by name
select
    $model as model_id, 0 as corpus_id, example_id, kind, layer, final_token as token_id,
    case when kind = 'saturation' then 5 else 1 end as rank_before,
    case when kind = 'saturation' then 1 else 50 end as rank_after,
    kind = 'elimination' or layer < $layers - 1 as by_ffn, $model * 10 + 6 as run_id,
from (
    from examples select example_id, 'saturation' as kind, saturation_layer as layer, final_token
    union all
    from examples select example_id, 'elimination' as kind, elimination_layer as layer, final_token
);

insert into store.streams by name
select
    $model as model_id, 0 as corpus_id, example_id, cast(layer as smallint) as layer, moment, final_token as top_token,
    0.5 as top_probability, 1 as final_token_rank, case when moment = 'post' then 3 end as candidate_rank, 2.0 as norm,
    case when moment = 'post' then 9.0 end as contribution_sum, case when moment = 'post' then 0.3 end as dominant_share,
    case when moment = 'post' then 0.3 end as leading_share, case when moment = 'post' then 50.0 end as effective_neurons,
    $model * 10 + 6 as run_id,
from examples, range($layers) as layers (layer), (values ('pre'), ('post')) as moments (moment);

-- Ten dominant ones of every layer, and as many of either random kind where an event is.
insert into store.sub_updates by name
select
    $model as set_id, 0 as corpus_id, example_id, layer, kind, cast(place + 1 as smallint) as rank,
    cast(hash(example_id % 50, layer, kind, place) % $d_ffn as integer) as neuron, cast(1 as float) as coefficient,
    cast(1 as float) as contribution, 0.03 as share, cast(0.1 as float) as score_candidate,
    cast(0.2 as float) as score_final, cast(0.1 as float) as score_logit_candidate,
    cast(0.2 as float) as score_logit_final, $model * 10 + 6 as run_id,
from (
    from examples, range($layers) as layers (layer)
    select example_id, cast(layer as smallint) as layer, 'dominant' as kind
    union all
    from examples, (values ('random'), ('random_active')) as kinds (kind)
    select example_id, saturation_layer as layer, kind
)
cross join range(10) as places (place);

insert into store.shortcuts by name
select
    $model as model_id, 0 as corpus_id, method, cast(source as smallint) as source_state,
    cast(target as smallint) as target_state, 1 - (target - source) / 50.0 as r2, null as condition, null as rank,
    9000 as n_fit, 3000 as n_validation, $model * 10 + 7 as run_id,
from range($layers) as sources (source), range(1, $layers + 1) as targets (target),
    (values ('id'), ('mat')) as methods (method)
where target > source;

insert into store.shortcut_predictions by name
select
    $model as model_id, 0 as corpus_id, method, cast(state as smallint) as state, 3000 as n,
    share as precision_1, share - 0.01 as precision_1_low, share + 0.01 as precision_1_high,
    share as precision_5, share - 0.01 as precision_5_low, share + 0.01 as precision_5_high,
    share as precision_10, share - 0.01 as precision_10_low, share + 0.01 as precision_10_high,
    3 - share as surprisal, 2.9 - share as surprisal_low, 3.1 - share as surprisal_high, $model * 10 + 7 as run_id,
from (
    from range($layers + 1) as states (state),
        (values ('id'), ('mat'), ('mat_attn'), ('mat_ffn'), ('mat_ln1_ln2')) as methods (method)
    select state, method, 0.9 * state / $layers + 0.05 as share
);

insert into store.sub_module_fits by name
select
    $model as model_id, 0 as corpus_id, cast(layer as smallint) as layer, part as sub_module, 0.7 as r2,
    null as condition, 1024 as rank, 9000 as n_fit, 3000 as n_validation, $model * 10 + 7 as run_id,
from range($layers) as layers (layer), (values ('attention'), ('ffn'), ('norm_1'), ('norm_2')) as parts (part);

insert into store.exits by name
select
    $model as model_id, 0 as corpus_id, method, step / 12.0 as parameter, 0 as seed, 3000 as n, 2000 as n_correct,
    1500 as n_exited, step / 12.0 as accuracy, $layers * step / 12.0 as layers_run, 1.0 as layers_run_sd,
    $layers - $layers * step / 12.0 as layers_saved, 1.0 as layers_saved_correct, $model * 10 + 8 as run_id,
from range(1, 13) as steps (step),
    (values ('id'), ('mat'), ('fixed_id'), ('fixed_mat')) as methods (method);

insert into store.annotations by name
select
    uuid()::varchar as annotation_id, $model as model_id, cast(layer as smallint) as layer, 'value' as condition,
    cast(place as integer) as neuron, null as control_id,
    list_transform(range(30), lambda i: cast(4 + i + place as integer)) as shown_token_ids, 'words' as concept,
    'semantic' as class, list_transform(range(5), lambda i: cast(4 + i + place as integer)) as token_ids, annotator,
    timestamp '2026-01-01' as created_at,
from range($layers) as layers (layer), range(10) as places (place), (values ('anna'), ('ben')) as people (annotator);
