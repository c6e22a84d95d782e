-- Losses and divergences of single neurons are not negative, and all neurons of a model met the same tokens with one untouched loss.
select 'model ' || set_id || ', L' || layer || 'N' || neuron as place
from store.neuron_effects
where n_tokens < 1 or nll < 0 or nll_untouched < 0 or kl < -1e-5 * n_tokens
union all
select 'model ' || set_id || ', corpus ' || corpus_id as place
from store.neuron_effects
group by set_id, corpus_id
having count(distinct n_tokens) > 1 or max(nll_untouched) - min(nll_untouched) > 1e-4 * max(nll_untouched)
