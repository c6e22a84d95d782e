-- How many full-length sequences a model's positions rest on, and why these are not enough, if they are not.
select n_sequences, why_not, corpus
from positions_by_layer
where model = $model
limit 1;
