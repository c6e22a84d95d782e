-- One row per model: its headline numbers, and whether it may be compared.
-- Why: what changes with size. From: store.models, neurons_by_model, measured_corpora, detectors_by_layer,
-- detected_by_layer, suppression_by_model, positions_by_layer, saturation_by_layer, dominant_share, early_exits and
-- exit_tradeoff. Sources: dead neurons and frequency Voita et al. 2023, section 3, detectors section 4, positional neurons
-- section 5; saturation and dominant neurons Geva et al. 2022, section 5, exits by clusters section 6; exits by shortcuts
-- Din et al. 2023, section 5; comparability ours: the reference is the text, sequence length, activation rule and number
-- format that most models share, ties by most tokens; a model measured in another way, or on less than half of the reference's
-- tokens, is not comparable, and neither are two of one family and size that no variant tells apart. Variants are shown
-- but are not sizes.
-- key: model
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart: a variant is not a size.
--   size: Parameters without embeddings.
--   n_layers: Number of blocks.
--   d_model: Width of the residual stream.
--   n_neurons: n_layers x d_ffn.
--   training_tokens: Tokens seen in training, where the checkpoint says so.
--   tokens_per_parameter: Training tokens over all parameters.
--   corpus: The shown corpus; null before the activity on a text was measured.
--   n_tokens_seen: Counted positions of the shown corpus.
--   comparable: True where the model was measured as the reference was and is distinguishable from the others.
--   why_not: Why it is not comparable; null where it is.
--   n_dead: Neurons that never fired on the shown corpus; null for models without exact zeros.
--   dead_share: n_dead / n_neurons.
--   first_half_dead_share: The same over the layers of the first half: 2 * layer + 1 <= n_layers.
--   never_active_share: Share of the neurons that never fired, whatever the non-linearity.
--   n_provably_dead: Neurons that no input can activate; null for post-norm blocks and models without exact zeros.
--   provably_dead_share: n_provably_dead / n_neurons.
--   n_alive: Neurons that fired.
--   mean_frequency: Mean frequency of the neurons that fired.
--   frequency_sd: Standard deviation of their frequencies (sample).
--   median_frequency: Half of them have at most this frequency.
--   median_effective_frequency: Half of the neurons have at most this effective frequency, whatever the non-linearity: see neuron_activity.
--   n_negligible: Neurons that never have 0.01 of their FFN's output: of models without exact zeros what n_dead is of others; null before the job poles ran.
--   negligible_share: n_negligible / n_neurons.
--   median_kurtosis: Median excess kurtosis of the neurons' raw scores: how far their highest scores stand out.
--   median_top_token_log_frequency: Median over neurons of the mean ln(1 + corpus count) of their top tokens.
--   n_token_detectors: Token detectors: see token_detectors; null before n-grams were counted, like what follows.
--   token_detector_share: n_token_detectors / n_neurons.
--   n_bigram_detectors: Bigram detectors; also null where the corpus is too small to label them.
--   bigram_detector_share: n_bigram_detectors / n_neurons.
--   n_trigram_detectors: Trigram detectors; also null where the corpus is too small to label them.
--   trigram_detector_share: n_trigram_detectors / n_neurons.
--   n_detected_tokens: Distinct tokens that they detect.
--   detected_token_share: n_detected_tokens over the tokens that occur often enough to be detected.
--   suppressing_share: Share of the token detectors that suppress what triggers them; null where there are none.
--   suppressing_expected: The share expected of equally frequent tokens.
--   suppressing_difference: suppressing_share - suppressing_expected.
--   n_positional: Neurons whose activity depends on the position; null where the corpus has too few sequences to tell.
--   positional_share: n_positional / n_neurons.
--   n_strong_positional: Those of them whose pattern is strong.
--   strong_positional_share: n_strong_positional / n_neurons.
--   n_examples: Examples whose predictions were followed; null before events were measured, like what follows.
--   early_saturation_share: Share of the examples whose final token is at the top before the last layer and stays there.
--   ffn_saturation_share: Share of the examples whose final token an FFN before the last layer brought to the top for good.
--   mean_saturation_depth: Mean depth of the saturation layer, (layer + 0.5) / n_layers.
--   dominant_share: Mean share of a layer's update that its ten dominant neurons hold, over layers and examples.
--   leading_share: The same of the largest 0.24% of the neurons, at least one.
--   effective_share: Mean effective number of neurons of an update, as a share of the layer's neurons: see dominant_share.
--   n_exit_examples: Examples, over all splits, on which the exit rule by clusters was tested; null before exits were measured, like what follows.
--   cluster_exit_accuracy: Share of them whose prediction at the exit is the model's own: see early_exits, cluster_ranks.
--   cluster_exit_saved_share: Share of the layers that the rule saves, over all examples.
--   n_exit_sentences: Sentences on which exits by shortcuts were tested.
--   mat_exit_saved_share: Share of the layers that the least-squares shortcut saves at 95% precision: see exit_tradeoff; null where its curve never crosses it from below.
--   id_exit_saved_share: The same of the stream as it is.
--   text_sha256: sha256 of the documents of the shown corpus.
--   sequence_length: Longest sequence of the shown corpus, in ids.
--   activation_rule: When a coefficient m counted as active.
--   counting_rule: When n-grams, detectors and positions counted an activation; null before they were measured.
--   dtype: Number format the model computed in.
with thresholds as (
    select
        cast(0.5 as double) as least_token_ratio,
),
shown as (
    select
        model_id,
        corpus,
        n_tokens,
        text_sha256,
        sequence_length,
        activation_rule,
        counting_rule,
        dtype,
    from measured_corpora
    where is_shown and dtype is not null
),
ways as (
    select
        text_sha256,
        sequence_length,
        activation_rule,
        dtype,
        count(*) as n_models,
        max(n_tokens) as n_tokens,
    from shown
    group by text_sha256, sequence_length, activation_rule, dtype
),
ranked_ways as (
    select
        text_sha256,
        sequence_length,
        activation_rule,
        dtype,
        n_tokens,
        row_number() over (
            order by n_models desc, n_tokens desc, sequence_length desc, activation_rule, dtype, text_sha256
        ) as place,
    from ways
),
reference as (
    select
        ranked_ways.text_sha256,
        ranked_ways.sequence_length,
        ranked_ways.activation_rule,
        ranked_ways.dtype,
        ranked_ways.n_tokens,
        thresholds.least_token_ratio,
    from ranked_ways
    cross join thresholds
    where ranked_ways.place = 1
),
counting_rules as (
    select
        shown.counting_rule,
        row_number() over (order by count(*) desc, shown.counting_rule) as place,
    from shown
    inner join reference
        on reference.text_sha256 = shown.text_sha256
        and reference.sequence_length = shown.sequence_length
        and reference.activation_rule = shown.activation_rule
        and reference.dtype = shown.dtype
    where
        shown.counting_rule is not null
        and cast(shown.n_tokens as double) >= reference.least_token_ratio * reference.n_tokens
    group by shown.counting_rule
),
measured as (
    select
        models.model_id,
        models.name,
        models.family,
        models.size,
        coalesce(models.variant, '') as variant,
    from shown
    inner join store.models as models on models.model_id = shown.model_id
),
repeated as (
    select
        family,
        size,
        variant,
        min(name) as first_name,
        max(name) as last_name,
    from measured
    group by family, size, variant
    having count(*) > 1
),
twins as (
    select
        measured.model_id,
        case when measured.name = repeated.first_name then repeated.last_name else repeated.first_name end as twin,
    from measured
    inner join repeated
        on repeated.family = measured.family
        and repeated.size = measured.size
        and repeated.variant = measured.variant
),
reasons as (
    select
        shown.model_id,
        nullif(
            concat_ws(
                '; ',
                case when shown.text_sha256 <> reference.text_sha256 then 'another text' end,
                case
                    when shown.sequence_length <> reference.sequence_length
                        then concat_ws(
                            ' ',
                            'sequences of',
                            cast(shown.sequence_length as varchar),
                            'ids instead of',
                            cast(reference.sequence_length as varchar)
                        )
                end,
                case
                    when shown.activation_rule <> reference.activation_rule
                        then concat_ws(
                            ' ', 'active means', shown.activation_rule, 'instead of', reference.activation_rule
                        )
                end,
                case
                    when
                        shown.activation_rule = reference.activation_rule
                        and shown.counting_rule <> counting_rules.counting_rule
                        then concat_ws(
                            ' ',
                            'n-grams and positions count',
                            shown.counting_rule,
                            'instead of',
                            counting_rules.counting_rule
                        )
                end,
                case
                    when shown.dtype <> reference.dtype
                        then concat_ws(' ', 'computed in', shown.dtype, 'instead of', reference.dtype)
                end,
                case
                    when
                        shown.text_sha256 = reference.text_sha256
                        and cast(shown.n_tokens as double) < reference.least_token_ratio * reference.n_tokens
                        then concat_ws(
                            ' ',
                            cast(shown.n_tokens as varchar),
                            'tokens of the text instead of',
                            cast(reference.n_tokens as varchar)
                        )
                end,
                case
                    when twins.twin is not null
                        then concat_ws(
                            ' ',
                            twins.twin,
                            'is of the same family and size, and no variant tells them apart (set one with neurothek label)'
                        )
                end
            ),
            ''
        ) as why_not,
    from shown
    cross join reference
    left join counting_rules on counting_rules.place = 1
    left join twins on twins.model_id = shown.model_id
),
detectors as (
    select
        model,
        sum(case when n = 1 then n_detectors end) as n_token_detectors,
        sum(case when n = 2 then n_detectors end) as n_bigram_detectors,
        sum(case when n = 3 then n_detectors end) as n_trigram_detectors,
    from detectors_by_layer
    group by model
),
detected as (
    select
        model,
        max(n_cumulative) as n_detected_tokens,
        max(cumulative_share) as detected_token_share,
    from detected_by_layer
    where n = 1
    group by model
),
positions as (
    select
        model,
        sum(n_neurons) as n_neurons,
        sum(n_positional) as n_positional,
        sum(n_strong) as n_strong,
    from positions_by_layer
    group by model
),
saturation as (
    select
        saturation_by_layer.model,
        max(saturation_by_layer.n_examples) as n_examples,
        sum(case when saturation_by_layer.layer < models.n_layers - 1 then saturation_by_layer.n_saturated else 0 end)
            as n_early,
        sum(saturation_by_layer.n_by_ffn) as n_by_ffn,
        sum(saturation_by_layer.n_saturated * saturation_by_layer.depth) as depths,
    from saturation_by_layer
    inner join store.models as models on models.name = saturation_by_layer.model
    group by saturation_by_layer.model
),
spread as (
    select
        model,
        sum(n_examples * dominant_share) / nullif(sum(n_examples), 0) as dominant_share,
        sum(n_examples * leading_share) / nullif(sum(n_examples), 0) as leading_share,
        sum(n_examples * effective_share) / nullif(sum(n_examples), 0) as effective_share,
    from dominant_share
    group by model
),
rules as (
    select
        model,
        n,
        accuracy,
        saved_share,
    from early_exits
    where method = 'cluster_ranks'
),
shortcuts as (
    select
        model,
        max(n) as n,
        max(case when method = 'mat' then saved_share_at_95 end) as mat_saved_share,
        max(case when method = 'id' then saved_share_at_95 end) as id_saved_share,
    from exit_tradeoff
    group by model
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    models.n_layers,
    models.d_model,
    models.n_neurons,
    models.training_tokens,
    cast(models.training_tokens as double) / nullif(models.n_parameters, 0) as tokens_per_parameter,
    shown.corpus,
    sums.n_tokens_seen,
    shown.model_id is not null and reasons.why_not is null as comparable,
    case when shown.model_id is null then 'its activity was not measured' else reasons.why_not end as why_not,
    case when models.has_exact_zeros then sums.n_never_active end as n_dead,
    case when models.has_exact_zeros then sums.never_active_share end as dead_share,
    case when models.has_exact_zeros then sums.first_half_never_active_share end as first_half_dead_share,
    sums.never_active_share,
    case when models.has_exact_zeros then sums.n_bound_below end as n_provably_dead,
    case when models.has_exact_zeros then sums.bound_below_share end as provably_dead_share,
    sums.n_alive,
    sums.mean_frequency,
    sums.frequency_sd,
    sums.median_frequency,
    sums.median_effective_frequency,
    sums.n_negligible,
    sums.negligible_share,
    sums.median_kurtosis,
    sums.median_top_token_log_frequency,
    cast(detectors.n_token_detectors as bigint) as n_token_detectors,
    cast(detectors.n_token_detectors as double) / models.n_neurons as token_detector_share,
    cast(detectors.n_bigram_detectors as bigint) as n_bigram_detectors,
    cast(detectors.n_bigram_detectors as double) / models.n_neurons as bigram_detector_share,
    cast(detectors.n_trigram_detectors as bigint) as n_trigram_detectors,
    cast(detectors.n_trigram_detectors as double) / models.n_neurons as trigram_detector_share,
    detected.n_detected_tokens,
    detected.detected_token_share,
    suppression_by_model.observed as suppressing_share,
    suppression_by_model.expected as suppressing_expected,
    suppression_by_model.difference as suppressing_difference,
    cast(positions.n_positional as bigint) as n_positional,
    cast(positions.n_positional as double) / positions.n_neurons as positional_share,
    cast(positions.n_strong as bigint) as n_strong_positional,
    cast(positions.n_strong as double) / positions.n_neurons as strong_positional_share,
    saturation.n_examples,
    cast(saturation.n_early as double) / saturation.n_examples as early_saturation_share,
    cast(saturation.n_by_ffn as double) / saturation.n_examples as ffn_saturation_share,
    saturation.depths / saturation.n_examples as mean_saturation_depth,
    spread.dominant_share,
    spread.leading_share,
    spread.effective_share,
    rules.n as n_exit_examples,
    rules.accuracy as cluster_exit_accuracy,
    rules.saved_share as cluster_exit_saved_share,
    shortcuts.n as n_exit_sentences,
    shortcuts.mat_saved_share as mat_exit_saved_share,
    shortcuts.id_saved_share as id_exit_saved_share,
    shown.text_sha256,
    shown.sequence_length,
    shown.activation_rule,
    shown.counting_rule,
    shown.dtype,
from store.models as models
left join neurons_by_model as sums on sums.model = models.name
left join positions on positions.model = models.name
left join shown on shown.model_id = models.model_id
left join reasons on reasons.model_id = models.model_id
left join detectors on detectors.model = models.name
left join detected on detected.model = models.name
left join saturation on saturation.model = models.name
left join spread on spread.model = models.name
left join rules on rules.model = models.name
left join shortcuts on shortcuts.model = models.name
left join suppression_by_model on suppression_by_model.model = models.name
