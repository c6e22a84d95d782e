-- One row per model, contrast, layer and neuron: how far its activations on two sets of prompts, A and B, lie apart.
-- Why: which neurons make the difference between two kinds of prompts, and how many would by chance. From:
-- store.contrast_neurons, which `neurothek contrast MODEL --keep NAME` fills, and the flat facts of the shown corpus. Source:
-- contrastive neuron attribution (CNA, 2026); p and q over shuffled labels, and when a neuron is always on, this project's.
-- key: model, contrast, layer, neuron
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   contrast: Name of the contrast.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   mean_a: Mean activation on the prompts of A, at their last own token or over all, as the view contrasts_summary says.
--   mean_b: Mean activation on those of B.
--   difference: mean_a - mean_b.
--   z: The difference in standard deviations of it over all labelings of the prompts; null where all prompts activate it alike.
--   p: Share of the z of all neurons under shuffled labels that are at least as large, to two decimals; null likewise.
--   q: p after Benjamini and Hochberg, over the neurons with a z; null likewise.
--   is_significant: q is at most 0.05; false where there is none.
--   effective_frequency: (sum |m|)^2 / (N * sum m^2) over the N counted positions of the shown corpus, as in neurons.
--   is_always_on: effective_frequency is above 0.5: it is on at most positions, whatever the prompt; null if not measured.
--   promotes: The first ten tokens it promotes at the sign of its larger mean.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(0.05 as double) as largest_q,
        cast(0.5 as double) as always_on_frequency,
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    contrasted.contrast,
    contrasted.layer,
    contrasted.neuron,
    models.name || '/L' || contrasted.layer || 'N' || contrasted.neuron as address,
    contrasted.mean_a,
    contrasted.mean_b,
    cast(contrasted.mean_a as double) - contrasted.mean_b as difference,
    contrasted.z,
    contrasted.p,
    contrasted.q,
    coalesce(contrasted.q <= thresholds.largest_q, false) as is_significant,
    facts.effective_frequency,
    facts.effective_frequency > thresholds.always_on_frequency as is_always_on,
    case
        when abs(contrasted.mean_a) >= abs(contrasted.mean_b) and contrasted.mean_a < 0 then facts.bottom_tokens
        when abs(contrasted.mean_a) < abs(contrasted.mean_b) and contrasted.mean_b < 0 then facts.bottom_tokens
        else facts.top_tokens
    end as promotes,
    measured_corpora.corpus,
from store.contrast_neurons as contrasted
cross join thresholds
inner join store.models as models on models.model_id = contrasted.set_id
inner join measured_corpora
    on measured_corpora.model_id = contrasted.set_id and measured_corpora.corpus_id = contrasted.corpus_id
left join store.neuron_facts as facts
    on facts.set_id = contrasted.set_id and facts.layer = contrasted.layer and facts.neuron = contrasted.neuron
where measured_corpora.is_shown
