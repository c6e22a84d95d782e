-- One row per model, layer and neuron: what was measured of it in one line, each clause with its number.
-- Why: a label where nobody has described a neuron, made from measurements alone. Clauses stand in this order, and only
-- where they were measured and say something: that it is dead or negligible; the tokens that it detects, or its first
-- triggers; positions; the domain that it is selective for, where the entropy over domains is at most 0.5; what it does
-- to entropy and token frequency; whether it has a super weight; what it reads, with the z-score of the first; what it
-- promotes at the pole at which it is strongest, where correlations are taken, too, with the z-score of the first, the
-- list's coherence, and its input score where that is above those of other neurons' lists; how often it is active; its
-- cluster. From: neurons. Source: this project.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   label: All clauses that there are, joined by semicolons, with the texts of tokens as they are; null where nothing was measured.
with thresholds as (
    select
        cast(0.5 as double) as uneven_entropy,
        cast(0.0001 as double) as smallest_frequency,
),
described as (
    select
        neurons.model,
        neurons.layer,
        neurons.neuron,
        neurons.address,
        case
            when neurons.is_dead then 'never active at ' || cast(neurons.n_tokens_seen as varchar) || ' tokens'
            when neurons.is_negligible
                then 'negligible: at most ' || cast(round(100 * neurons.contribution_max, 2) as varchar)
                    || '% of its FFN''s output'
        end as idleness,
        case
            when neurons.effective_frequency < thresholds.smallest_frequency then 'effective frequency under 0.01%'
            else 'effective frequency ' || cast(round(100 * neurons.effective_frequency, 2) as varchar) || '%'
        end as activity,
        case when neurons.is_token_detector then 'detects “' else 'often at “' end as triggering,
        case when neurons.is_token_detector then neurons.detected_tokens else neurons.trigger_tokens end as triggers,
        case
            when neurons.is_token_detector and neurons.suppresses_triggers then '” and suppresses them'
            when neurons.is_token_detector then '” and promotes them'
            else '”'
        end
        || coalesce(' (five tokens hold ' || cast(round(100 * neurons.trigger_share, 1) as varchar) || '%)', '') as holding,
        case
            when neurons.position_strength in ('strong', 'weak')
                then 'depends on position: ' || neurons.position_kind || ', ' || neurons.position_strength || ' ('
                    || cast(round(neurons.mutual_information_corrected, 2) as varchar) || ' nats)'
        end as positions,
        case
            when neurons.selective_domain is not null and neurons.domain_entropy <= thresholds.uneven_entropy
                then 'for ' || neurons.selective_domain || ' (entropy over domains '
                    || cast(round(neurons.domain_entropy, 2) as varchar) || ')'
        end as domain,
        case
            when neurons.is_entropy_neuron
                then 'moves no logit with ' || cast(round(100 * neurons.null_share, 1) as varchar) || '% of what it writes'
        end as entropy,
        case
            when neurons.is_frequency_neuron
                then 'follows token counts (correlation ' || cast(
                        round(
                            case when neurons.pole = 'negative' then -neurons.count_correlation else neurons.count_correlation end,
                            2
                        ) as varchar
                    ) || ')'
        end as counts,
        case
            when neurons.has_super_weight
                then 'has a super weight (coefficient ' || cast(cast(round(neurons.massive_ratio) as bigint) as varchar)
                    || ' times its layer''s mean)'
        end as super_weight,
        neurons.read_tokens,
        coalesce(' (z ' || cast(round(neurons.read_z, 1) as varchar) || ')', '') as reading,
        case when neurons.pole = 'negative' then neurons.bottom_tokens else neurons.top_tokens end as written,
        nullif(
            concat_ws(
                ', ',
                'z ' || cast(round(neurons.promoted_z, 1) as varchar),
                'more coherent than ' || cast(round(neurons.coherence_percentile, 1) as varchar) || '% of random vectors',
                case
                    when neurons.input_score > neurons.input_other_score
                        then 'at ' || cast(cast(round(neurons.input_score * neurons.n_strongest_contexts) as bigint) as varchar)
                            || ' of its ' || cast(neurons.n_strongest_contexts as varchar) || ' strongest contexts'
                end
            ),
            ''
        ) as writing,
        case
            when neurons.cluster_size > 1
                then 'in cluster ' || cast(neurons.cluster_id as varchar) || ' (' || cast(neurons.cluster_size as varchar)
                    || ' neurons)'
        end as cluster,
    from neurons
    cross join thresholds
)
select
    model,
    layer,
    neuron,
    address,
    nullif(
        concat_ws(
            '; ',
            idleness,
            case
                when list_extract(triggers, 1) is not null
                    then triggering || concat_ws('” “', list_extract(triggers, 1), list_extract(triggers, 2), list_extract(triggers, 3)) || holding
            end,
            positions,
            domain,
            entropy,
            counts,
            super_weight,
            case
                when list_extract(read_tokens, 1) is not null
                    then 'reads “' || concat_ws('” “', list_extract(read_tokens, 1), list_extract(read_tokens, 2), list_extract(read_tokens, 3)) || '”' || reading
            end,
            case
                when list_extract(written, 1) is not null
                    then 'promotes “' || concat_ws('” “', list_extract(written, 1), list_extract(written, 2), list_extract(written, 3)) || '”' || coalesce(' (' || writing || ')', '')
            end,
            activity,
            cluster
        ),
        ''
    ) as label,
from described
