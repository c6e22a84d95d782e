-- For how many pairs of states of each model the least-squares map predicts the later state better than no map does.
select
    mat.model,
    count(*) as n,
    count(case when mat.r2 > id.r2 then 1 end) as n_above,
    min(mat.r2 - id.r2) as least,
from shortcut_fit as mat
inner join shortcut_fit as id
    on id.model = mat.model and id.source_state = mat.source_state and id.target_state = mat.target_state
where list_contains($models::varchar[], mat.model) and mat.method = 'mat' and id.method = 'id'
group by mat.model, mat.size
order by mat.size
