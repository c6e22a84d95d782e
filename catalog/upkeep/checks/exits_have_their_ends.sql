-- The lowest threshold on confidence leaves every sentence after the first layer, the highest leaves none; the last state is exact.
select
    'model ' || exits.model_id || ', ' || exits.method || ' ' || exits.parameter as place
from store.exits as exits
inner join store.models as models on models.model_id = exits.model_id
where
    (exits.method in ('mat', 'id') and exits.parameter <= -1.112 and exits.layers_run <> 1)
    or (
        (
            (exits.method in ('mat', 'id') and exits.parameter >= 1.112)
            or (exits.method in ('fixed_mat', 'fixed_id') and exits.parameter = models.n_layers)
        )
        and (exits.layers_saved <> 0 or exits.n_correct <> exits.n)
    )
    or (exits.method in ('fixed_mat', 'fixed_id') and exits.layers_run <> exits.parameter)
