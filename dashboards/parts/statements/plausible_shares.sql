-- How many lists of each shortcut of one model are plausible, as each annotator and all together say.
select
    method,
    state,
    annotator,
    n,
    plausible_share,
    plausible_share_low,
    plausible_share_high,
    precision_1,
    precision_1_gain,
from plausibility
where model = $model
order by method, state, annotator <> 'all', annotator
