-- What a neuron that was turned off alone does on each domain adds up to what it does on the text.
select 'model ' || parts.set_id || ', L' || parts.layer || 'N' || parts.neuron as place
from (
    select set_id, corpus_id, layer, neuron, sum(n_tokens) as n_tokens, sum(nll) as nll, sum(nll_untouched) as nll_untouched, sum(kl) as kl
    from store.neuron_effects_by_domain
    group by set_id, corpus_id, layer, neuron
) as parts
left join store.neuron_effects as whole
    on
        whole.set_id = parts.set_id
        and whole.corpus_id = parts.corpus_id
        and whole.layer = parts.layer
        and whole.neuron = parts.neuron
where
    whole.n_tokens is null
    or whole.n_tokens <> parts.n_tokens
    or abs(whole.nll - parts.nll) > 1e-9 * whole.nll
    or abs(whole.nll_untouched - parts.nll_untouched) > 1e-9 * whole.nll_untouched
    or abs(whole.kl - parts.kl) > 1e-9 * whole.nll
