-- The flat table of neurons agrees with the tables that it is made of, as far as these have one row per neuron.
with fired as (
    select
        set_id as model_id, corpus_id, layer, neuron, sum(n_positions) as n_positions, sum(n_active) as n_active,
        sum(n_active_bos) as n_active_bos,
        sum(activation_abs_sum) ^ 2 / nullif(sum(n_positions)::double * sum(activation_square_sum), 0)
            as effective_frequency
    from store.activity
    group by set_id, corpus_id, layer, neuron
)
select 'model ' || facts.set_id || ', layer ' || facts.layer || ', neuron ' || facts.neuron as place
from store.neuron_facts as facts
inner join store.models as models on models.model_id = facts.set_id
left join store.projections as projections
    on
        projections.set_id = facts.set_id
        and projections.layer = facts.layer
        and projections.neuron = facts.neuron
left join fired
    on
        fired.model_id = facts.set_id
        and fired.corpus_id = facts.corpus_id
        and fired.layer = facts.layer
        and fired.neuron = facts.neuron
left join store.ngrams as unigrams
    on
        unigrams.set_id = facts.set_id
        and unigrams.corpus_id = facts.corpus_id
        and unigrams.layer = facts.layer
        and unigrams.neuron = facts.neuron
        and unigrams.n = 1
left join store.clusters as clusters
    on
        clusters.set_id = facts.set_id
        and clusters.clustering_id = facts.clustering_id
        and clusters.layer = facts.layer
        and clusters.neuron = facts.neuron
left join store.contributions as contributions
    on
        contributions.set_id = facts.set_id
        and contributions.corpus_id = facts.corpus_id
        and contributions.layer = facts.layer
        and contributions.neuron = facts.neuron
left join store.entropy as entropy
    on
        entropy.set_id = facts.set_id
        and entropy.corpus_id = facts.corpus_id
        and entropy.layer = facts.layer
        and entropy.neuron = facts.neuron
left join store.selectivity as selectivity
    on
        selectivity.set_id = facts.set_id
        and selectivity.corpus_id = facts.corpus_id
        and selectivity.layer = facts.layer
        and selectivity.neuron = facts.neuron
left join store.output_scores as turned_up
    on
        turned_up.set_id = facts.set_id
        and turned_up.corpus_id = facts.corpus_id
        and turned_up.layer = facts.layer
        and turned_up.neuron = facts.neuron
left join store.neuron_effects as effects
    on
        effects.set_id = facts.set_id
        and effects.corpus_id = facts.corpus_id
        and effects.layer = facts.layer
        and effects.neuron = facts.neuron
left join store.key_projections as reads
    on
        reads.set_id = facts.set_id
        and reads.layer = facts.layer
        and reads.neuron = facts.neuron
        and reads.reader in ('key', 'gate')
left join store.massive_activations as massive
    on
        massive.model_id = facts.set_id
        and massive.corpus_id = facts.corpus_id
        and massive.layer = facts.layer
where
    facts.address <> models.name || '/L' || facts.layer || 'N' || facts.neuron
    or facts.depth <> (facts.layer + 0.5::double) / models.n_layers
    or facts.value_norm is distinct from projections.value_norm
    or facts.score_mean is distinct from projections.score_mean
    or facts.score_sd is distinct from projections.score_sd
    or facts.score_skewness is distinct from projections.score_skewness
    or facts.score_kurtosis is distinct from projections.score_kurtosis
    or facts.score_negative_share is distinct from projections.score_negative_share
    or facts.preactivation_bound is distinct from projections.preactivation_bound
    or facts.n_positions is distinct from fired.n_positions
    or facts.n_active is distinct from fired.n_active
    or facts.n_active_bos is distinct from fired.n_active_bos
    or facts.unigram_active is distinct from unigrams.n_active
    or facts.unigrams_95 is distinct from unigrams.n_covering_95
    or facts.cluster_id is distinct from clusters.cluster_id
    or facts.effect_on_loss is distinct from (effects.nll - effects.nll_untouched) / effects.n_tokens
    or facts.contribution_max is distinct from contributions.contribution_max
    or facts.logit_variance is distinct from entropy.logit_variance
    or facts.null_share is distinct from entropy.null_share
    or facts.count_correlation is distinct from entropy.count_correlation
    or (facts.is_entropy_neuron and entropy.null_share_percentile < 100)
    or (facts.is_frequency_neuron and entropy.count_correlation_percentile < 100)
    or facts.domain_entropy is distinct from selectivity.entropy
    or facts.selective_domain is distinct from case when selectivity.p <= 0.01 then selectivity.domain end
    or facts.output_score is distinct from turned_up.output_score
    or facts.output_percentile is distinct from turned_up.other_percentile
    or facts.read_z is distinct from (reads.top_scores[1] - reads.score_mean) / nullif(reads.score_sd, 0)
    or (facts.promoted_z is null) <> (nullif(projections.score_sd, 0) is null)
    or facts.promoted_z not in (
        (projections.top_scores[1] - projections.score_mean) / projections.score_sd,
        (projections.score_mean - projections.bottom_scores[1]) / projections.score_sd
    )
    or facts.input_score not between 0 and 1
    or facts.input_other_score not between 0 and 1
    or abs(facts.input_score * facts.n_strongest_contexts - round(facts.input_score * facts.n_strongest_contexts)) > 1e-9
    or (facts.input_score is null) <> (facts.n_strongest_contexts is null)
    or facts.massive_ratio is distinct from case
        when massive.input_neuron = facts.neuron
            then abs(massive.input_largest::double) / nullif(massive.input_mean, 0)
    end
    or (massive.layer is null) <> (facts.has_super_weight is null)
    or (facts.has_super_weight and massive.input_neuron <> facts.neuron)
    or (facts.effective_frequency is null) <> (fired.effective_frequency is null)
    -- Sums of doubles by several threads differ in their last digits.
    or abs(facts.effective_frequency - fired.effective_frequency) > 1e-9
