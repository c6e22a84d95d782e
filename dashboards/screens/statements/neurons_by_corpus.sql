-- Neurons as they fire on one of the corpora that their model was measured on: all of one layer, or always the same few.
with chosen as (
    /* where one layer is asked for */
    select * from neurons where model = $model and layer = $layer
    /* end of one layer is asked for */
    /* where a model is asked for */
    select * from neurons where model = $model order by hash(layer, neuron) limit $n
    /* end of a model is asked for */
),
-- Which pole a neuron of a gated model is strongest at hangs on the corpus, too.
poles as (
    select
        chosen.layer,
        chosen.neuron,
        case
            when chosen.pole is null then null
            when coalesce(nullif(activity.activation_max + activity.activation_min, 0), chosen.skewness) < 0
                then 'negative'
            else 'positive'
        end as pole,
    from chosen
    left join neurons_by_corpus as activity
        on activity.model = chosen.model
        and activity.layer = chosen.layer
        and activity.neuron = chosen.neuron
        and activity.corpus_id = $corpus_id
),
named as (
    select models.model_id, tokenizers.bos_token_id is not null as has_bos
    from store.models as models
    inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
    where models.name = $model
),
-- Domains lie one after another in a corpus: what came before a domain is counted before its first activation.
domains as (
    select
        sequences.domain,
        coalesce(
            sum(sum(len(sequences.tokens) - cast(named.has_bos as integer)))
                over (order by min(sequences.sequence_id) rows between unbounded preceding and 1 preceding),
            0
        ) as n_before,
    from store.sequences as sequences
    cross join named
    where sequences.corpus_id = $corpus_id
    group by sequences.domain
),
firsts as (
    select activity.layer, activity.neuron, cast(min(domains.n_before + activity.first_active) as bigint) as first_active,
    from store.activity as activity
    inner join named on named.model_id = activity.set_id
    inner join domains on domains.domain = activity.domain
    where activity.corpus_id = $corpus_id
    /* where one layer is asked for */
        and activity.layer = $layer
    /* end of one layer is asked for */
    group by activity.layer, activity.neuron
),
counts as (
    select token_id, sum(n_occurrences) as n from store.token_counts where corpus_id = $corpus_id group by token_id
),
tops as (
    select
        projections.layer,
        projections.neuron,
        unnest(
            case when poles.pole = 'negative' then projections.bottom_token_ids else projections.top_token_ids end
        ) as token_id,
    from store.projections as projections
    inner join named on named.model_id = projections.set_id
    inner join poles on poles.layer = projections.layer and poles.neuron = projections.neuron
),
frequent as (
    select tops.layer, tops.neuron, avg(ln(1 + coalesce(counts.n, 0))) as top_token_log_frequency,
    from tops
    left join counts on counts.token_id = tops.token_id
    group by tops.layer, tops.neuron
)
select
    chosen.address,
    activity.frequency,
    activity.effective_frequency,
    cast(contributions.contribution_max as double) as contribution_max,
    activity.mean_activation,
    case when poles.pole is not null then activity.activation_min end as activation_min,
    activity.activation_max,
    chosen.value_norm,
    chosen.kurtosis,
    chosen.skewness,
    chosen.score_sd,
    chosen.score_mean,
    chosen.score_negative_share,
    chosen.preactivation_bound,
    frequent.top_token_log_frequency,
    firsts.first_active,
    activity.is_dead,
    activity.never_active,
    -- As in the view neurons.
    contributions.contribution_max < 0.01 as is_negligible,
    activity.n_tokens_seen,
    poles.pole,
    case when poles.pole = 'negative' then chosen.bottom_tokens else chosen.top_tokens end as top_tokens,
    chosen.neuron,
    activity.corpus,
from chosen
inner join poles on poles.layer = chosen.layer and poles.neuron = chosen.neuron
left join neurons_by_corpus as activity
    on activity.model = chosen.model
    and activity.layer = chosen.layer
    and activity.neuron = chosen.neuron
    and activity.corpus_id = $corpus_id
left join store.contributions as contributions
    on contributions.set_id = (select model_id from named)
    and contributions.corpus_id = $corpus_id
    and contributions.layer = chosen.layer
    and contributions.neuron = chosen.neuron
left join firsts on firsts.layer = chosen.layer and firsts.neuron = chosen.neuron
left join frequent on frequent.layer = chosen.layer and frequent.neuron = chosen.neuron
/* where one layer is asked for */
order by chosen.neuron
/* end of one layer is asked for */
/* where a model is asked for */
order by hash(chosen.layer, chosen.neuron)
/* end of a model is asked for */
