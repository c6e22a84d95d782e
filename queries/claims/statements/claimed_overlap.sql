-- Mean overlap of the highest tokens without and with the final norm, of value vectors and of random ones.
select
    norm_overlap.model,
    norm_overlap.kind,
    sum(norm_overlap.norm_overlap * norm_overlap.n) / sum(norm_overlap.n) as norm_overlap,
    sum(norm_overlap.norm_overlap_without_bias * norm_overlap.n) / sum(norm_overlap.n) as without_bias,
    sum(norm_overlap.n)::bigint as n,
from norm_overlap
where list_contains($models::varchar[], norm_overlap.model) and norm_overlap.norm_overlap is not null
group by norm_overlap.model, norm_overlap.kind
order by norm_overlap.model, norm_overlap.kind
