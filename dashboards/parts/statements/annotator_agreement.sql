-- How far people who judged the same vectors of one model agree.
select annotator, other_annotator, condition, n_vectors, agreement, kappa, n_marked, mean_jaccard,
from annotator_agreement
where model = $model
order by annotator, other_annotator, condition
