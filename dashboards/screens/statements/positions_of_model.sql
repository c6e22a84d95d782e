-- On how many full-length sequences a model's positions stand, and why they do not tell, if they do not.
select n_sequences, why_not, corpus
from positions_by_layer
where model = $model
limit 1;
