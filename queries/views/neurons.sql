-- One row per model, layer and neuron: what it promotes and how often it fires on the model's shown corpus.
-- Why: the first place to ask. From: store.neuron_facts, which every publish rebuilds; labels are expressions here, so
-- copy the query and move a threshold. Sources: scores Geva et al. 2022, sections 3 and 4; frequency and dead neurons
-- Voita et al. 2023, section 3, token detectors section 4, mutual information section 5; the bound behind
-- is_provably_dead, that the prepended BOS does not count, the kinds of position profiles and their strength are ours.
-- A label is null only where its job has not run or where it has no meaning for the model.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   value_norm: L2 norm of the value vector.
--   top_tokens: Text of the first ten tokens it promotes, best first: at a coefficient above 0; below 0 it suppresses them.
--   bottom_tokens: Text of the first ten tokens it suppresses, lowest first; at a coefficient below 0 it promotes them.
--   frequency: Share of the counted positions at which it was active.
--   is_dead: Never active on the shown corpus; null for models without exact zeros.
--   never_active: Never active on the shown corpus, whatever the non-linearity.
--   is_provably_dead: No input can activate it; null for post-norm blocks and models without exact zeros.
--   n_tokens_seen: Counted positions it was measured on: the number behind every "dead".
--   n_active: Counted positions at which it was active.
--   n_active_bos: Sequences in which it was active at the prepended BOS, which is not a counted position.
--   fires_only_at_bos: Active at the prepended BOS and at no counted position: dead only because the BOS does not count, which is ours.
--   first_active: Counted positions before its first activation; null if never active.
--   mean_activation: Mean of its coefficient over the counted positions.
--   activation_min: Smallest coefficient.
--   activation_max: Largest coefficient.
--   mutual_information: Between position and being active, in nats, as counted over full-length sequences.
--   mutual_information_corrected: The same minus the bias of chance; position_kind is judged by it.
--   n_position_sequences: Full-length sequences behind it.
--   position_kind: oscillatory, both extremes, one extreme, other, not positional, or too few sequences.
--   position_strength: strong or weak; as position_kind where the neuron is not positional.
--   corpus: The shown corpus; null before the activity on a text was measured.
--   score_mean: Mean raw score over the vocabulary.
--   score_sd: Standard deviation of the raw scores.
--   skewness: Skewness of the raw scores.
--   kurtosis: Excess kurtosis of the raw scores.
--   score_negative_share: Share of the tokens whose raw score is below 0.
--   preactivation_bound: No input can raise its pre-activation above this.
--   unigrams_95: Coverage: fewest tokens that hold 95% of its activations; null before n-grams were counted.
--   token_status: detector, not, or too few activations to tell.
--   is_token_detector: Few tokens hold nearly all of its activations, and nearly always activate it.
--   detected_tokens: Texts of the tokens it detects, by id; null where it is not a detector.
--   suppresses_triggers: It is a detector, and the mean raw score of these tokens is negative: see suppression.
--   trigger_share: Share of its activations on the five tokens that trigger it most; null if it never fired.
--   trigger_recall: Share of the occurrences of these five at which it was active.
--   trigger_z: Mean z-score of these five: above 0 where it promotes what triggers it.
--   clustering_id: The clustering that cluster_id belongs to: the pinned one, else the one with most clusters.
--   cluster_id: Cluster of its value vector; null before the job clusters ran.
--   cluster_size: Neurons of that cluster, itself included.
--   coherence: Mean pairwise cosine of the centred embeddings of those of the tokens it promotes (at its pole) that occur often enough in the corpus.
--   coherence_z: The same in standard deviations above random vectors of the layer; see coherence_separation first.
--   coherence_percentile: Share of these random vectors that are less coherent, in percent.
--   times_dominant: Examples in which its coefficient was not 0 and it was among the ten dominant neurons of its layer; null before events were measured.
--   times_saturating: Examples whose saturation its FFN caused while it was dominant and raised the final token.
--   top_token_log_frequency: Mean of ln(1 + corpus count) over the listed tokens that it promotes (at its pole): low where under-trained tokens crowd the list.
--   effect_on_loss: What turning it off alone adds to the loss on the shown corpus, nats a token; null where `intervene --one-by-one` did not measure it. See the view neuron_effects.
--   effect_percentile: Percent of the random neurons of its layer, itself left out, whose effect is smaller; of equal ones half counts; null of fewer than 20.
--   pole: Sign of the coefficient at which it is strongest (positive, negative), at which trigger_z, suppresses_triggers, coherence and top_token_log_frequency are taken: of a gated model; null in others.
--   effective_frequency: (sum |m|)^2 / (N * sum m^2) over the N counted positions: no threshold says what is active, so that any models compare.
--   contribution_max: Largest share |m| ||v|| / ||FFN output|| of its FFN's output; null before the job poles ran.
--   is_negligible: That share is below 0.01: what is_dead is for a model without exact zeros; null before the job poles ran.
--   logit_variance: Variance over the vocabulary of the cosines of its value vector with the unembedding's rows; null before the job entropy ran, like the four columns after it.
--   null_share: Share of its squared length in the directions that move no logit against another; see entropy_neurons.
--   is_entropy_neuron: That share is above that of every random vector of its layer, and it is no shorter than the layer's median.
--   count_correlation: Correlation over tokens of its scores with ln(1 + corpus count).
--   is_frequency_neuron: That correlation is stronger than that of every random vector of its layer, and it is no shorter than the median.
--   domain_entropy: Entropy of its frequencies over domains: 0 in one alone, 1 in all alike; null before the job selectivity ran.
--   selective_domain: The domain it is active in most, where its entropy is below the first percentile of shuffled domains; else null.
--   trigger_tokens: Texts of the first three tokens that trigger it most; null before n-grams were counted.
--   read_tokens: Texts of the first three tokens that its key, or its gate, reads; null before the job keys ran.
--   output_score: How far the model says what it promotes once it is turned up; null where the job output_scores did not turn it up. See output_scores.
--   output_percentile: Percent of the lists of other neurons of its layer that the model then says less of; null likewise.
--   input_score: Share of its strongest contexts (at its pole) whose token is among the 20 it promotes; null before contexts were measured. See input_scores.
--   input_other_score: Mean of the same share over the lists of the layer's other neurons: what the layer's common tokens make.
--   n_strongest_contexts: How many strongest contexts these shares are of: at most ten, and one or two of a neuron that seldom has that sign.
--   promoted_z: z-score of the first token that it promotes (at its pole).
--   read_z: z-score of the first token that its key, or its gate, reads; null before the job keys ran.
--   massive_ratio: Of the neuron with the layer's largest coefficient alone: its size over the mean size of all; null before the job massive ran. See massive_activations.
--   has_super_weight: It is that neuron, and one of its weights makes at least half of a massive output; null before the job massive ran.
with thresholds as (
    select
        cast(0 as bigint) as dead_active_positions,
        cast(0 as double) as dead_bound,
        cast(100 as bigint) as min_activations,
        cast(5 as bigint) as most_tokens,
        cast(0.95 as double) as least_share,
        cast(0 as double) as suppression_bound,
        cast(100 as bigint) as least_sequences,
        cast(0.05 as double) as positional_information,
        3 as oscillating_switches,
        cast(0.995 as double) as strong_on,
        cast(0.005 as double) as strong_off,
        cast(0.02 as double) as strong_roughness,
        cast(0.01 as double) as negligible_contribution,
),
measured as (
    select
        facts.set_id as model_id,
        facts.corpus_id,
        facts.layer,
        facts.neuron,
        facts.address,
        facts.depth,
        facts.value_norm,
        facts.top_tokens,
        facts.bottom_tokens,
        facts.n_positions,
        facts.n_active,
        facts.n_active_bos,
        facts.first_active,
        facts.activation_sum,
        facts.activation_min,
        facts.activation_max,
        facts.score_mean,
        facts.score_sd,
        facts.score_skewness,
        facts.score_kurtosis,
        facts.score_negative_share,
        facts.preactivation_bound,
        facts.top_token_log_frequency,
        facts.effect_on_loss,
        facts.effect_percentile,
        facts.effective_frequency,
        facts.contribution_max,
        facts.contribution_max < thresholds.negligible_contribution as is_negligible,
        facts.logit_variance,
        facts.null_share,
        facts.is_entropy_neuron,
        facts.count_correlation,
        facts.is_frequency_neuron,
        facts.domain_entropy,
        facts.selective_domain,
        facts.trigger_tokens,
        facts.read_tokens,
        facts.output_score,
        facts.output_percentile,
        facts.input_score,
        facts.input_other_score,
        facts.n_strongest_contexts,
        facts.promoted_z,
        facts.read_z,
        facts.massive_ratio,
        facts.has_super_weight,
        facts.times_dominant,
        facts.times_saturating,
        facts.n_position_sequences,
        facts.mutual_information,
        facts.mutual_information_corrected,
        case
            when facts.n_position_sequences < thresholds.least_sequences then 'too few sequences'
            when facts.mutual_information_corrected <= thresholds.positional_information then 'not positional'
            when facts.n_switches >= thresholds.oscillating_switches then 'oscillatory'
            when facts.n_switches > 0 then 'both extremes'
            when facts.n_on_runs + facts.n_off_runs > 0 then 'one extreme'
            when facts.n_position_sequences is not null then 'other'
        end as position_kind,
        coalesce(facts.weakest_on >= thresholds.strong_on, true)
        and coalesce(facts.weakest_off <= thresholds.strong_off, true) as has_strong_runs,
        facts.roughness <= thresholds.strong_roughness as is_smooth,
        facts.n_active = thresholds.dead_active_positions as never_active,
        facts.preactivation_bound < thresholds.dead_bound as bound_below,
        facts.unigrams_95,
        facts.trigger_share,
        facts.trigger_recall,
        facts.trigger_z,
        facts.detected_tokens,
        facts.clustering_id,
        facts.cluster_id,
        facts.cluster_size,
        facts.coherence,
        facts.coherence_z,
        facts.coherence_percentile,
        facts.detected_score < thresholds.suppression_bound as suppresses,
        case
            when facts.unigram_active < thresholds.min_activations then 'too few activations'
            when
                facts.unigrams_95 <= thresholds.most_tokens
                and cast(facts.detected_active as double) / facts.unigram_active >= thresholds.least_share
                then 'detector'
            when facts.unigram_active is not null then 'not'
        end as token_status,
    from store.neuron_facts as facts
    cross join thresholds
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    measured.layer,
    measured.neuron,
    measured.address,
    measured.depth,
    measured.value_norm,
    measured.top_tokens,
    measured.bottom_tokens,
    cast(measured.n_active as double) / nullif(measured.n_positions, 0) as frequency,
    case when models.has_exact_zeros then measured.never_active end as is_dead,
    measured.never_active,
    case when models.has_exact_zeros then measured.bound_below end as is_provably_dead,
    measured.n_positions as n_tokens_seen,
    measured.n_active,
    measured.n_active_bos,
    measured.never_active and measured.n_active_bos > 0 as fires_only_at_bos,
    measured.first_active,
    measured.activation_sum / nullif(measured.n_positions, 0) as mean_activation,
    measured.activation_min,
    measured.activation_max,
    measured.mutual_information,
    measured.mutual_information_corrected,
    measured.n_position_sequences,
    measured.position_kind,
    case
        when measured.position_kind in ('not positional', 'too few sequences') then measured.position_kind
        when measured.position_kind = 'other' then case when measured.is_smooth then 'strong' else 'weak' end
        when measured.position_kind is not null then case when measured.has_strong_runs then 'strong' else 'weak' end
    end as position_strength,
    corpora.name as corpus,
    measured.score_mean,
    measured.score_sd,
    measured.score_skewness as skewness,
    measured.score_kurtosis as kurtosis,
    measured.score_negative_share,
    measured.preactivation_bound,
    measured.unigrams_95,
    measured.token_status,
    measured.token_status = 'detector' as is_token_detector,
    case when measured.token_status = 'detector' then measured.detected_tokens end as detected_tokens,
    measured.token_status = 'detector' and measured.suppresses as suppresses_triggers,
    measured.trigger_share,
    measured.trigger_recall,
    measured.trigger_z,
    measured.clustering_id,
    measured.cluster_id,
    measured.cluster_size,
    measured.coherence,
    measured.coherence_z,
    measured.coherence_percentile,
    measured.times_dominant,
    measured.times_saturating,
    measured.top_token_log_frequency,
    measured.effect_on_loss,
    measured.effect_percentile,
    case
        when models.activation_rule <> 'gate > 0' then null
        when coalesce(nullif(measured.activation_max + measured.activation_min, 0), measured.score_skewness) < 0
            then 'negative'
        else 'positive'
    end as pole,
    measured.effective_frequency,
    measured.contribution_max,
    measured.is_negligible,
    measured.logit_variance,
    measured.null_share,
    measured.is_entropy_neuron,
    measured.count_correlation,
    measured.is_frequency_neuron,
    measured.domain_entropy,
    measured.selective_domain,
    measured.trigger_tokens,
    measured.read_tokens,
    measured.output_score,
    measured.output_percentile,
    measured.input_score,
    measured.input_other_score,
    measured.n_strongest_contexts,
    measured.promoted_z,
    measured.read_z,
    measured.massive_ratio,
    measured.has_super_weight,
from measured
inner join store.models as models on models.model_id = measured.model_id
left join store.corpora as corpora on corpora.corpus_id = measured.corpus_id
