-- A model's size is its parameters minus those of its embeddings.
select 'model ' || name as place
from store.models
where size is distinct from n_parameters - n_parameters_embedding
