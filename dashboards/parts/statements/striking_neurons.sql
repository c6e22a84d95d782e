-- What stands out among the neurons of one model, or of one of its layers: a neuron for each way of standing out.
-- What writes massive activations moves few logits too, and is no entropy neuron for that. What is strongest at first
-- tokens alone is neither sparse nor of a domain: many neurons of models with massive activations are large there.
-- Peaked scores count where the tail is that of the tokens that the neuron promotes (of a gated model at its pole).
with at_first_tokens as (
    select contexts.layer, contexts.neuron,
    from store.contexts as contexts
    inner join measured_corpora
        on measured_corpora.model_id = contexts.set_id and measured_corpora.corpus_id = contexts.corpus_id
    where
        measured_corpora.model = $model
        and measured_corpora.is_shown
        and ($layer is null or contexts.layer = $layer)
    group by contexts.layer, contexts.neuron
    having max(contexts.position) = 0
),
chosen as (
    select
        neurons.layer,
        neurons.neuron,
        at_first_tokens.neuron is not null as is_at_first_tokens,
        case when pole = 'negative' then -skewness else skewness end > 0 as promotes_peak,
        times_dominant,
        position_kind,
        mutual_information_corrected,
        kurtosis,
        effect_on_loss,
        n_active,
        effective_frequency,
        is_dead is null as lacks_zeros,
        coalesce(is_dead, is_negligible, false) as hardly_matters,
        n_tokens_seen,
        is_entropy_neuron,
        null_share,
        is_frequency_neuron,
        count_correlation,
        selective_domain,
        domain_entropy,
        massive_ratio,
        has_super_weight,
        input_score,
        input_other_score,
        n_strongest_contexts,
        output_score,
        output_percentile,
    from neurons
    left join at_first_tokens
        on at_first_tokens.layer = neurons.layer and at_first_tokens.neuron = neurons.neuron
    where neurons.model = $model and ($layer is null or neurons.layer = $layer)
),
found as (
    (
        select
            1 as place,
            'dominant' as what,
            layer,
            neuron,
            times_dominant as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where times_dominant > 0
        order by times_dominant desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            2 as place,
            'detector' as what,
            token_detectors.layer,
            token_detectors.neuron,
            list_min(token_detectors.recall_lows) as number,
            chosen.position_kind,
            chosen.n_tokens_seen,
            token_detectors.detected_tokens,
        from token_detectors
        inner join chosen on chosen.layer = token_detectors.layer and chosen.neuron = token_detectors.neuron
        where token_detectors.model = $model and ($layer is null or token_detectors.layer = $layer)
        order by number desc, token_detectors.layer, token_detectors.neuron
        limit $n
    )
    union all
    (
        select
            3 as place,
            'positional' as what,
            layer,
            neuron,
            mutual_information_corrected as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where position_kind not in ('not positional', 'too few sequences')
        order by mutual_information_corrected desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            4 as place,
            'effect' as what,
            layer,
            neuron,
            effect_on_loss as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where effect_on_loss > 0
        order by effect_on_loss desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            5 as place,
            'sharp' as what,
            layer,
            neuron,
            kurtosis as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where kurtosis is not null and promotes_peak and not hardly_matters
        order by kurtosis desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            7 as place,
            'rare' as what,
            layer,
            neuron,
            n_active as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where n_active > 0 and not lacks_zeros
        order by n_active, layer, neuron
        limit $n
    )
    union all
    (
        select
            8 as place,
            'sparse' as what,
            layer,
            neuron,
            effective_frequency as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where
            lacks_zeros
            and effective_frequency is not null
            and n_tokens_seen is not null
            and not hardly_matters
            and not is_at_first_tokens
        order by effective_frequency, layer, neuron
        limit $n
    )
    union all
    (
        select
            9 as place,
            'domain' as what,
            layer,
            neuron,
            domain_entropy as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where
            selective_domain is not null
            and domain_entropy is not null
            and not hardly_matters
            and not is_at_first_tokens
        order by domain_entropy, layer, neuron
        limit $n
    )
    union all
    (
        select
            10 as place,
            'entropy' as what,
            layer,
            neuron,
            null_share as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where
            is_entropy_neuron
            and null_share is not null
            and not coalesce(has_super_weight, false)
            and not is_at_first_tokens
        order by null_share desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            11 as place,
            'counts' as what,
            layer,
            neuron,
            count_correlation as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where is_frequency_neuron and count_correlation is not null
        order by abs(count_correlation) desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            12 as place,
            'massive' as what,
            layer,
            neuron,
            massive_ratio as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where has_super_weight and massive_ratio is not null
        order by massive_ratio desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            13 as place,
            'reader' as what,
            layer,
            neuron,
            input_score as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where input_score > input_other_score and n_strongest_contexts >= 5
        order by input_score desc, layer, neuron
        limit $n
    )
    union all
    (
        select
            14 as place,
            'writer' as what,
            layer,
            neuron,
            output_score as number,
            position_kind,
            n_tokens_seen,
            null as detected_tokens,
        from chosen
        where output_score > 0 and output_percentile >= 95
        order by output_score desc, layer, neuron
        limit $n
    )
)
select
    found.what,
    found.number,
    found.layer,
    found.neuron,
    $model || '/L' || found.layer || 'N' || found.neuron as address,
    found.position_kind,
    found.n_tokens_seen,
    found.detected_tokens,
    chosen.selective_domain,
    chosen.n_strongest_contexts,
    chosen.input_other_score,
    chosen.output_percentile,
    turned_up.n_others,
    chosen.is_at_first_tokens,
    (select bool_and(lacks_zeros) from chosen) as lacks_zeros,
from found
inner join chosen on chosen.layer = found.layer and chosen.neuron = found.neuron
left join output_scores as turned_up
    on
        turned_up.model = $model
        and turned_up.layer = found.layer
        and turned_up.neuron = found.neuron
order by found.place, found.number desc
