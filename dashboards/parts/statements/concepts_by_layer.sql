-- How much of the highest tokens falls under concepts of each class in the layers of one model, in one kind of vector.
select
    layer,
    depth,
    class,
    token_share,
    n_tokens,
    n_top_tokens,
    concepts_per_vector,
    n_concepts,
    n_judgements,
    n_annotators,
    with_class_share,
from concepts_by_layer
where model = $model and condition = $condition
order by layer, class
