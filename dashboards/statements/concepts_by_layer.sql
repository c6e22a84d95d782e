-- How many concepts of each class people name in the layers of one model, in one kind of vector.
select layer, depth, class, concepts_per_vector, n_concepts, n_judgements, n_annotators, with_class_share, token_share,
from concepts_by_layer
where model = $model and condition = $condition
order by layer, class
