-- Kinds, moments, methods and parts are those that the columns' descriptions name.
select 'streams: ' || moment as place from store.streams where moment not in ('pre', 'post')
union all
select 'sub_updates: ' || kind as place
from store.sub_updates
where kind not in ('dominant', 'random', 'random_active')
union all
select 'clusterings: ' || method || ', ' || linkage as place
from store.clusterings
where method not in ('exact', 'scalable') or linkage <> 'complete'
union all
select 'controls: ' || kind as place from store.controls where kind not in ('random', 'ffn_update')
union all
select 'control_coherences: ' || kind as place from store.control_coherences where kind not in ('random', 'ffn_update')
union all
select 'norm_overlaps: ' || kind as place from store.norm_overlaps where kind not in ('value', 'random')
union all
select 'shortcuts: ' || method as place from store.shortcuts where method not in ('id', 'mat')
union all
select 'shortcut_readings: ' || method as place
from store.shortcut_readings
where method not in ('id', 'mat', 'mat_attn', 'mat_ffn', 'mat_ln1_ln2')
union all
select 'shortcut_tops: ' || method as place from store.shortcut_tops where method not in ('id', 'mat')
union all
select 'sub_module_fits: ' || sub_module as place
from store.sub_module_fits
where sub_module not in ('attention', 'ffn', 'norm_1', 'norm_2')
union all
select 'exits: ' || method as place
from store.exits
where
    method not in (
        'cluster_ranks', 'cluster_sets', 'logistic_stream', 'logistic_ffn', 'logistic_sum',
        'mat', 'id', 'fixed_mat', 'fixed_id'
    )
union all
select 'models: ' || norm_position || ', ' || position_encoding || ', ' || activation_rule as place
from store.models
where
    norm_position not in ('pre', 'post', 'both', 'written')
    or position_encoding not in ('learned', 'none', 'rotary')
    or activation_rule not in ('m != 0', 'm > 0', 'gate > 0')
