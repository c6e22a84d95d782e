-- Which jobs any model was measured by.
select distinct job,
from store.runs
order by job
