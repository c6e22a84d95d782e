-- An explanation is of a neuron of its model, and a judgement is of an explanation of that model, by a method that there is.
select 'explanation ' || explanations.explanation_id as place
from store.explanations as explanations
left join store.models as models on models.model_id = explanations.model_id
where
    models.model_id is null
    or explanations.layer not between 0 and models.n_layers - 1
    or explanations.neuron not between 0 and models.d_ffn - 1
    or explanations.pole not in ('positive', 'negative')
    or explanations.subject not in ('neuron', 'made-up')
    or trim(explanations.text) = ''
    or trim(explanations.explainer) = ''
union all
select 'judgement ' || judgements.judgement_id as place
from store.explanation_judgements as judgements
left join store.explanations as explanations
    on
        explanations.explanation_id = judgements.explanation_id
        and explanations.model_id = judgements.model_id
        and explanations.subject = 'neuron'
where
    explanations.explanation_id is null
    or judgements.method not in ('detection', 'fuzzing', 'intruder')
    or judgements.condition not in ('explanation', 'borrowed', 'random text', 'made-up unit', 'shuffled')
    or judgements.part not in ('strongest', 'upper', 'middle', 'lower', 'inactive')
    or (judgements.method = 'intruder' and judgements.condition in ('borrowed', 'random text'))
    or (judgements.method = 'intruder' and not judgements.is_true)
    or (judgements.method = 'detection' and judgements.is_true = (judgements.part = 'inactive'))
    or trim(judgements.judge) = ''
