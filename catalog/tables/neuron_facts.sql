-- One flat row per neuron of one model ($model_id): joins would cost a tenth of a second at each question,
-- the flat table costs milliseconds. The shown corpus is the one asked for ($corpus_id), else the pinned one, else of
-- those with activity the one with most tokens, else the newest.
insert into store.neuron_facts by name
with thresholds as (
    -- Those of the views corpus_ngrams, detected_ngrams, neuron_effects, entropy_neurons, selectivity, massive_activations
    -- and input_scores: the flat rows hold what they decide.
    select 10::bigint as min_occurrences, 0.95::double as least_recall, 20 as least_sets,
        100::double as above_all, 0.01::double as largest_p,
        1000::double as massive_ratio, 0.5::double as half, 20 as listed_tokens
),
model as (
    select
        model_id,
        name,
        n_layers,
        tokenizer_id,
        starts_with(activation_rule, 'gate') as is_signed
    from store.models
    where model_id = $model_id
),
measured_corpora as (
    select
        runs.corpus_id,
        count_if(runs.job = 'activity') > 0 as has_activity
    from store.runs as runs
    where runs.model_id = $model_id and runs.corpus_id is not null
    group by runs.corpus_id
),
shown as (
    select corpora.corpus_id
    from measured_corpora
    inner join store.corpora as corpora on corpora.corpus_id = measured_corpora.corpus_id
    left join store.pins as pins on pins.corpus_id = corpora.corpus_id and pins.model_id = $model_id
    where coalesce(corpora.corpus_id = $corpus_id, true)
    order by
        pins.corpus_id is not null desc,
        measured_corpora.has_activity desc,
        corpora.n_tokens desc,
        corpora.corpus_id desc
    limit 1
),
-- Rows that a damaged file has twice would multiply from join to join: `distinct` keeps each of these parts one a neuron.
grid as (
    select distinct layers.layer, neurons.neuron::integer as neuron
    from store.unit_layers as layers, unnest(range(layers.n_units)) as neurons(neuron)
    where layers.set_id = $model_id
),
ids as (
    -- Every id from 0 to the last, so that an id's place in the lists below is the id plus one, holes included.
    select unnest(range(max(tokens.token_id) + 1)) as token_id
    from store.tokens as tokens
    inner join model on model.tokenizer_id = tokens.tokenizer_id
),
texts as (
    select list(tokens.text order by ids.token_id) as by_id
    from ids
    cross join model
    left join store.tokens as tokens
        on tokens.token_id = ids.token_id and tokens.tokenizer_id = model.tokenizer_id
),
counts as (
    select token_counts.token_id, sum(token_counts.n_occurrences) as n
    from store.token_counts as token_counts
    inner join shown on shown.corpus_id = token_counts.corpus_id
    group by token_counts.token_id
),
logarithms as (
    select list(ln(1 + coalesce(counts.n, 0)) order by ids.token_id) as by_id
    from ids
    left join counts on counts.token_id = ids.token_id
),
-- Looking ids up in one list takes a tenth of the time that unnesting, joining and collecting them again takes.
listed as (
    select
        projections.*,
        list_select((select by_id from texts), list_transform(top_token_ids[1:10], lambda i: i + 1)) as top_tokens,
        list_select((select by_id from texts), list_transform(bottom_token_ids[1:10], lambda i: i + 1)) as bottom_tokens,
        case
            when exists (select 1 from shown)
                then list_avg(
                    list_select((select by_id from logarithms), list_transform(top_token_ids, lambda i: i + 1))
                )
        end as top_log_frequency,
        case
            when exists (select 1 from shown) and (select is_signed from model)
                then list_avg(
                    list_select((select by_id from logarithms), list_transform(bottom_token_ids, lambda i: i + 1))
                )
        end as bottom_log_frequency
    from store.projections as projections
    where projections.set_id = $model_id
),
domains as (
    -- Domains lie one after another in a corpus: what came before a domain is counted before its first activation.
    select
        sequences.domain,
        coalesce(
            sum(sum(len(sequences.tokens) - case when tokenizers.bos_token_id is null then 0 else 1 end))
                over (order by min(sequences.sequence_id) rows between unbounded preceding and 1 preceding),
            0
        ) as n_before
    from store.sequences as sequences
    inner join shown on shown.corpus_id = sequences.corpus_id
    cross join model
    inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = model.tokenizer_id
    group by sequences.domain
),
activities as (
    select
        activity.layer,
        activity.neuron,
        sum(activity.n_positions)::bigint as n_positions,
        sum(activity.n_active)::bigint as n_active,
        sum(activity.n_active_bos)::bigint as n_active_bos,
        sum(activity.activation_sum) as activation_sum,
        sum(activity.activation_abs_sum) ^ 2
        / nullif(sum(activity.n_positions)::double * sum(activity.activation_square_sum), 0) as effective_frequency,
        min(activity.activation_min)::double as activation_min,
        max(activity.activation_max)::double as activation_max,
        min(domains.n_before + activity.first_active)::bigint as first_active
    from store.activity as activity
    inner join shown on shown.corpus_id = activity.corpus_id
    inner join domains on domains.domain = activity.domain
    where activity.set_id = $model_id
    group by activity.layer, activity.neuron
),
leaning as (
    -- A neuron of a gated model is strongest at the sign of its largest coefficient; without any, of the longer tail.
    select distinct
        grid.layer,
        grid.neuron,
        model.is_signed
        and coalesce(nullif(activities.activation_max + activities.activation_min, 0), listed.score_skewness) < 0
        as is_negative
    from grid
    cross join model
    left join listed on listed.layer = grid.layer and listed.neuron = grid.neuron
    left join activities on activities.layer = grid.layer and activities.neuron = grid.neuron
),
unigrams as (
    select distinct layer, neuron, n_active as unigram_active, n_covering_95 as unigrams_95
    from store.ngrams
    where set_id = $model_id and corpus_id = (select corpus_id from shown) and n = 1
),
answered as (
    -- A token is detected as in the view detected_ngrams: it comes often enough, and nearly always fires the neuron.
    select
        layer,
        neuron,
        rank,
        token_ids[1] as token_id,
        n_active,
        n_occurrences,
        score,
        z_score,
        n_occurrences >= thresholds.min_occurrences
        and n_active::double / n_occurrences >= thresholds.least_recall as is_detected
    from store.triggers
    cross join thresholds
    where set_id = $model_id and corpus_id = (select corpus_id from shown) and n = 1
),
answers as (
    select
        answered.layer,
        answered.neuron,
        (sum(answered.n_active) filter (answered.rank <= 5))::bigint as first_active,
        (sum(answered.n_occurrences) filter (answered.rank <= 5))::bigint as first_occurrences,
        avg(answered.z_score::double) filter (answered.rank <= 5) as trigger_z,
        coalesce(sum(answered.n_active) filter (answered.is_detected), 0)::bigint as detected_active,
        avg(answered.score::double) filter (answered.is_detected) as detected_score,
        list(tokens.text order by answered.token_id) filter (answered.is_detected) as detected_tokens,
        list(tokens.text order by answered.rank) filter (answered.rank <= 3) as trigger_tokens
    from answered
    cross join model
    inner join store.tokens as tokens
        on tokens.tokenizer_id = model.tokenizer_id and tokens.token_id = answered.token_id
    group by answered.layer, answered.neuron
),
shown_clustering as (
    -- The pinned one, else the one with most clusters, else the newest.
    select clusterings.clustering_id
    from store.clusterings as clusterings
    left join store.cluster_pins as pins
        on pins.model_id = clusterings.set_id and pins.n_clusters_asked = clusterings.n_clusters_asked
    where clusterings.set_id = $model_id
    order by pins.model_id is not null desc, clusterings.n_clusters desc, clusterings.clustering_id desc
    limit 1
),
clustered as (
    select distinct
        clustering_id,
        layer,
        neuron,
        cluster_id,
        (count(*) over (partition by cluster_id))::integer as cluster_size
    from store.clusters
    where set_id = $model_id and clustering_id = (select clustering_id from shown_clustering)
),
events_measured as (
    select 1 from store.event_samples
    where model_id = $model_id and corpus_id = (select corpus_id from shown)
),
dominated as (
    -- Where every coefficient is 0 the dominant neurons are only the first ones.
    select
        sub_updates.layer,
        sub_updates.neuron,
        count(*) as times_dominant,
        count(*) filter (
            examples.saturation_by_ffn
            and examples.saturation_layer = sub_updates.layer
            -- What a neuron adds to every token alike moves none of them: as in the view pushers.
            and sub_updates.score_final
                > coalesce(sub_updates.multiplier, sub_updates.coefficient)::double * coalesce(projections.score_mean, 0)
        ) as times_saturating
    from store.sub_updates as sub_updates
    inner join store.examples as examples
        on examples.model_id = sub_updates.set_id
        and examples.corpus_id = sub_updates.corpus_id
        and examples.example_id = sub_updates.example_id
    left join store.projections as projections
        on projections.set_id = sub_updates.set_id
        and projections.layer = sub_updates.layer
        and projections.neuron = sub_updates.neuron
    where sub_updates.set_id = $model_id
        and sub_updates.corpus_id = (select corpus_id from shown)
        and sub_updates.kind = 'dominant'
        and sub_updates.coefficient <> 0
    group by sub_updates.layer, sub_updates.neuron
),
single as (
    select layer, neuron, is_control, (nll - nll_untouched) / n_tokens as effect
    from store.neuron_effects
    where set_id = $model_id and corpus_id = (select corpus_id from shown)
),
lost as (
    -- A neuron among the random ones of its layer, itself left out; of equal effects half counts.
    select
        single.layer,
        single.neuron,
        any_value(single.effect) as effect_on_loss,
        case
            when count(others.neuron) >= any_value(thresholds.least_sets) then 100 * avg(
                case
                    when others.effect < single.effect then 1::double
                    when others.effect = single.effect then 0.5::double
                    when others.effect > single.effect then 0::double
                end
            )
        end as effect_percentile
    from single
    cross join thresholds
    left join single as others
        on others.is_control and others.layer = single.layer and others.neuron <> single.neuron
    group by single.layer, single.neuron
),
readers as (
    select distinct
        layer,
        neuron,
        (top_scores[1] - score_mean) / nullif(score_sd, 0) as read_z,
        list_select((select by_id from texts), list_transform(top_token_ids[1:3], lambda i: i + 1)) as read_tokens
    from store.key_projections
    where set_id = $model_id and reader in ('key', 'gate')
),
entropies as (
    select distinct
        entropy.layer,
        entropy.neuron,
        entropy.logit_variance,
        entropy.null_share,
        entropy.count_correlation,
        coalesce(entropy.null_share_percentile >= thresholds.above_all, false) and lengths.is_long as is_entropy_neuron,
        coalesce(entropy.count_correlation_percentile >= thresholds.above_all, false) and lengths.is_long as is_frequency_neuron
    from store.entropy as entropy
    cross join thresholds
    left join (
        select layer, neuron, value_norm >= median(value_norm) over (partition by layer) as is_long
        from listed
    ) as lengths on lengths.layer = entropy.layer and lengths.neuron = entropy.neuron
    where entropy.set_id = $model_id and entropy.corpus_id = (select corpus_id from shown)
),
strongest_contexts as (
    -- At the pole at which the neuron is strongest; of models whose poles were not measured, those with an activation above 0.
    select contexts.layer, contexts.neuron, contexts.sequence_id, contexts.position
    from (
        select layer, neuron, sequence_id, position, pole = 'negative' as is_negative
        from store.pole_contexts
        where set_id = $model_id and corpus_id = (select corpus_id from shown)
        union all
        select layer, neuron, sequence_id, position, activation < 0 as is_negative
        from store.contexts
        where set_id = $model_id and corpus_id = (select corpus_id from shown)
            and not exists (
                select 1 from store.pole_contexts
                where set_id = $model_id and corpus_id = (select corpus_id from shown)
            )
    ) as contexts
    inner join leaning
        on leaning.layer = contexts.layer and leaning.neuron = contexts.neuron
        and coalesce(leaning.is_negative, false) = contexts.is_negative
),
places as (
    -- Joined by place: a join by sequence alone would copy its tokens for each context.
    select sequence_id, unnest(tokens) as token_id, unnest(range(len(tokens))) as position
    from store.sequences
    where corpus_id = (select corpus_id from shown) and exists (select 1 from strongest_contexts)
),
context_tokens as (
    select contexts.layer, contexts.neuron, places.token_id
    from strongest_contexts as contexts
    inner join places on places.sequence_id = contexts.sequence_id and places.position = contexts.position
),
strongest_lists as (
    select
        listed.layer,
        listed.neuron,
        case when leaning.is_negative then listed.bottom_token_ids else listed.top_token_ids end[
            1:(select listed_tokens from thresholds)
        ] as token_ids
    from listed
    inner join leaning on leaning.layer = listed.layer and leaning.neuron = listed.neuron
),
listings as (
    select layer, token_id, count(*) as n_lists
    from (select layer, unnest(token_ids) as token_id from strongest_lists)
    group by layer, token_id
),
counted as (
    select
        contexts.layer,
        contexts.neuron,
        list(contexts.token_id) as token_ids,
        sum(coalesce(listings.n_lists, 0)) as n_lists
    from context_tokens as contexts
    left join listings on listings.layer = contexts.layer and listings.token_id = contexts.token_id
    group by contexts.layer, contexts.neuron
),
judged as (
    select
        counted.layer,
        counted.neuron,
        counted.n_lists,
        len(counted.token_ids) as n_contexts,
        len(list_filter(counted.token_ids, lambda one: list_contains(lists.token_ids, one))) as n_promoted
    from counted
    inner join strongest_lists as lists on lists.layer = counted.layer and lists.neuron = counted.neuron
),
inputs as (
    select distinct
        judged.layer,
        judged.neuron,
        judged.n_contexts::integer as n_strongest_contexts,
        judged.n_promoted::double / judged.n_contexts as input_score,
        (judged.n_lists - judged.n_promoted)::double / judged.n_contexts / nullif(layers.n_units - 1, 0) as input_other_score
    from judged
    inner join store.unit_layers as layers on layers.set_id = $model_id and layers.layer = judged.layer
),
massive as (
    select distinct
        massive.layer,
        massive.input_neuron as neuron,
        abs(massive.input_largest::double) / nullif(massive.input_mean, 0) as massive_ratio,
        coalesce(
            abs(massive.output_largest::double) / nullif(massive.output_mean, 0) >= thresholds.massive_ratio
            and massive.weight_share >= thresholds.half,
            false
        ) as has_super_weight
    from store.massive_activations as massive
    cross join thresholds
    where massive.model_id = $model_id and massive.corpus_id = (select corpus_id from shown)
)
select
    model.model_id as set_id,
    grid.layer,
    grid.neuron,
    (select corpus_id from shown) as corpus_id,
    model.name || '/L' || grid.layer || 'N' || grid.neuron as address,
    (grid.layer + 0.5::double) / model.n_layers as depth,
    listed.value_norm,
    listed.score_mean,
    listed.score_sd,
    listed.score_skewness,
    listed.score_kurtosis,
    listed.score_negative_share,
    listed.preactivation_bound,
    listed.top_tokens,
    listed.bottom_tokens,
    case
        when leaning.is_negative then listed.bottom_log_frequency
        else listed.top_log_frequency
    end as top_token_log_frequency,
    activities.n_positions,
    activities.n_active,
    activities.n_active_bos,
    activities.activation_sum,
    activities.activation_min,
    activities.activation_max,
    activities.first_active,
    unigrams.unigram_active,
    unigrams.unigrams_95,
    answers.first_active::double / unigrams.unigram_active as trigger_share,
    answers.first_active::double / answers.first_occurrences as trigger_recall,
    -- A gated neuron does to its triggers what it writes at the pole at which it is strongest.
    case when leaning.is_negative then -answers.trigger_z else answers.trigger_z end as trigger_z,
    answers.detected_active,
    case when leaning.is_negative then -answers.detected_score else answers.detected_score end as detected_score,
    answers.detected_tokens,
    profiles.n_sequences as n_position_sequences,
    profiles.mutual_information,
    profiles.mutual_information_corrected,
    profiles.n_switches,
    profiles.n_on_runs,
    profiles.n_off_runs,
    profiles.weakest_on,
    profiles.weakest_off,
    profiles.roughness,
    clustered.clustering_id,
    clustered.cluster_id,
    clustered.cluster_size,
    case when leaning.is_negative then coherences.negative_coherence else coherences.coherence end as coherence,
    case when leaning.is_negative then coherences.negative_coherence_z else coherences.coherence_z end as coherence_z,
    case
        when leaning.is_negative then coherences.negative_coherence_percentile
        else coherences.coherence_percentile
    end as coherence_percentile,
    case when exists (select 1 from events_measured) then coalesce(dominated.times_dominant, 0) end as times_dominant,
    case when exists (select 1 from events_measured) then coalesce(dominated.times_saturating, 0) end as times_saturating,
    lost.effect_on_loss,
    lost.effect_percentile,
    activities.effective_frequency,
    contributions.contribution_max::double as contribution_max,
    entropies.logit_variance,
    entropies.null_share,
    entropies.is_entropy_neuron,
    entropies.count_correlation,
    entropies.is_frequency_neuron,
    selectivity.entropy as domain_entropy,
    case when selectivity.p <= (select largest_p from thresholds) then selectivity.domain end as selective_domain,
    answers.trigger_tokens,
    readers.read_tokens,
    turned_up.output_score,
    turned_up.other_percentile as output_percentile,
    case
        when leaning.is_negative then listed.score_mean - listed.bottom_scores[1]
        else listed.top_scores[1] - listed.score_mean
    end / nullif(listed.score_sd, 0) as promoted_z,
    readers.read_z,
    inputs.n_strongest_contexts,
    inputs.input_score,
    inputs.input_other_score,
    massive.massive_ratio,
    case when exists (select 1 from massive) then coalesce(massive.has_super_weight, false) end as has_super_weight
from grid
cross join model
left join listed on listed.layer = grid.layer and listed.neuron = grid.neuron
left join activities on activities.layer = grid.layer and activities.neuron = grid.neuron
left join leaning on leaning.layer = grid.layer and leaning.neuron = grid.neuron
left join unigrams on unigrams.layer = grid.layer and unigrams.neuron = grid.neuron
left join answers on answers.layer = grid.layer and answers.neuron = grid.neuron
left join store.positions as profiles
    on profiles.set_id = $model_id and profiles.corpus_id = (select corpus_id from shown) and profiles.domain = 'all'
    and profiles.layer = grid.layer and profiles.neuron = grid.neuron
left join clustered on clustered.layer = grid.layer and clustered.neuron = grid.neuron
left join store.coherences as coherences
    on coherences.set_id = $model_id and coherences.corpus_id = (select corpus_id from shown)
    and coherences.layer = grid.layer and coherences.neuron = grid.neuron
left join dominated on dominated.layer = grid.layer and dominated.neuron = grid.neuron
left join lost on lost.layer = grid.layer and lost.neuron = grid.neuron
left join store.contributions as contributions
    on contributions.set_id = $model_id and contributions.corpus_id = (select corpus_id from shown)
    and contributions.layer = grid.layer and contributions.neuron = grid.neuron
left join readers on readers.layer = grid.layer and readers.neuron = grid.neuron
left join entropies on entropies.layer = grid.layer and entropies.neuron = grid.neuron
left join store.selectivity as selectivity
    on selectivity.set_id = $model_id and selectivity.corpus_id = (select corpus_id from shown)
    and selectivity.layer = grid.layer and selectivity.neuron = grid.neuron
left join store.output_scores as turned_up
    on turned_up.set_id = $model_id and turned_up.corpus_id = (select corpus_id from shown)
    and turned_up.layer = grid.layer and turned_up.neuron = grid.neuron
left join inputs on inputs.layer = grid.layer and inputs.neuron = grid.neuron
left join massive on massive.layer = grid.layer and massive.neuron = grid.neuron
order by grid.layer, grid.neuron;
