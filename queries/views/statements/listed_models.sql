-- The view models as people list it: smallest first, a plain model before its variants, steps in the order of training.
select *,
from models
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model
