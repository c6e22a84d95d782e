-- How much of the highest tokens falls under concepts of each class in the layers of one model, in one kind of vector, as
-- one annotator or all people together say.
select
    layer,
    depth,
    class,
    token_share,
    token_share_low,
    token_share_high,
    n_tokens,
    n_top_tokens,
    concepts_per_vector,
    n_concepts,
    n_judgements,
    n_annotators,
    with_class_share,
from concepts_by_layer
where model = $model and condition = $condition and annotator = $annotator
order by layer, class
