-- Mean overlap of the highest tokens without and with the final norm, of a layer's value vectors and of its random ones.
select
    own.model,
    own.layer,
    own.n,
    own.norm_overlap,
    own.norm_overlap_without_bias as without_bias,
    controls.norm_overlap as random,
    controls.norm_overlap_without_bias as random_without_bias,
from norm_overlap as own
left join norm_overlap as controls
    on controls.model = own.model and controls.layer = own.layer and controls.kind = 'random'
where list_contains($models::varchar[], own.model) and own.kind = 'value' and own.norm_overlap is not null
order by own.model, own.layer
