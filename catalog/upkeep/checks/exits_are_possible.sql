-- An exit runs some of the layers and saves the others, its accuracy matches its count, and examples that leave last are correct.
select
    'model ' || exits.model_id || ', ' || exits.method || ' ' || exits.parameter || ', seed ' || exits.seed as place
from store.exits as exits
inner join store.models as models on models.model_id = exits.model_id
where
    exits.n < 1
    or exits.n_correct not between 0 and exits.n
    or exits.n_exited not between 0 and exits.n
    or exits.n - exits.n_correct > exits.n_exited
    or abs(exits.accuracy - exits.n_correct / exits.n) > 1e-9
    or exits.layers_run not between 0 and models.n_layers
    or abs(exits.layers_run + exits.layers_saved - models.n_layers) > 1e-9
    or (exits.n_exited = 0 and exits.layers_saved <> 0)
    or exits.layers_run_sd < 0
    or (exits.n_correct = 0) <> (exits.layers_saved_correct is null)
    or exits.layers_saved_correct not between 0 and models.n_layers
