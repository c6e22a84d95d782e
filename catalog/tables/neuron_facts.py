"""The flat table of neurons, and what fills its later columns in files of earlier releases."""

from neurothek.catalog.tables.table import (
    BIG,
    DOUBLE,
    FLAG,
    INTEGER,
    LAYER,
    NEURON,
    SET,
    TEXT,
    TEXTS,
    Column,
    Table,
)

_FILL_EFFECTIVE_FREQUENCY = """\
update store.neuron_facts as facts set effective_frequency = measured.effective_frequency
from (
    select
        set_id,
        corpus_id,
        layer,
        neuron,
        sum(activation_abs_sum) ^ 2 / nullif(sum(n_positions)::double * sum(activation_square_sum), 0)
            as effective_frequency
    from store.activity
    group by set_id, corpus_id, layer, neuron
) as measured
where measured.set_id = facts.set_id and measured.corpus_id = facts.corpus_id
    and measured.layer = facts.layer and measured.neuron = facts.neuron
"""

_FILL_CONTRIBUTION_MAX = """\
update store.neuron_facts as facts set contribution_max = measured.contribution_max
from store.contributions as measured
where measured.set_id = facts.set_id and measured.corpus_id = facts.corpus_id
    and measured.layer = facts.layer and measured.neuron = facts.neuron
"""

_FILL_TRIGGER_TOKENS = """\
update store.neuron_facts as facts set trigger_tokens = measured.tokens
from (
    select
        triggers.set_id,
        triggers.corpus_id,
        triggers.layer,
        triggers.neuron,
        list(tokens.text order by triggers.rank) as tokens
    from store.triggers as triggers
    inner join store.models as models on models.model_id = triggers.set_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = triggers.token_ids[1]
    where triggers.n = 1 and triggers.rank <= 3
    group by triggers.set_id, triggers.corpus_id, triggers.layer, triggers.neuron
) as measured
where measured.set_id = facts.set_id and measured.corpus_id = facts.corpus_id
    and measured.layer = facts.layer and measured.neuron = facts.neuron
"""

_FILL_READ_TOKENS = """\
update store.neuron_facts as facts set read_tokens = measured.tokens
from (
    select listed.set_id, listed.layer, listed.neuron, list(tokens.text order by listed.place) as tokens
    from (
        select set_id, layer, neuron, unnest(top_token_ids[1:3]) as token_id, unnest(range(1, 4)) as place
        from store.key_projections
        where reader in ('key', 'gate')
    ) as listed
    inner join store.models as models on models.model_id = listed.set_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = listed.token_id
    group by listed.set_id, listed.layer, listed.neuron
) as measured
where measured.set_id = facts.set_id and measured.layer = facts.layer and measured.neuron = facts.neuron
"""

_FILL_OUTPUT_SCORE, _FILL_OUTPUT_PERCENTILE = (
    f"""\
update store.neuron_facts as facts set {name} = measured.{of}
from store.output_scores as measured
where measured.set_id = facts.set_id and measured.corpus_id = facts.corpus_id
    and measured.layer = facts.layer and measured.neuron = facts.neuron
"""
    for name, of in (("output_score", "output_score"), ("output_percentile", "other_percentile"))
)

_FILL_VERSION_39 = """\
with poles as (
    select
        facts.set_id,
        facts.corpus_id,
        facts.layer,
        facts.neuron,
        starts_with(models.activation_rule, 'gate')
        and coalesce(nullif(facts.activation_max + facts.activation_min, 0), facts.score_skewness) < 0 as is_negative,
    from store.neuron_facts as facts
    inner join store.models as models on models.model_id = facts.set_id
),
contexts as (
    select set_id, corpus_id, layer, neuron, sequence_id, position, pole = 'negative' as is_negative
    from store.pole_contexts
    union all
    select set_id, corpus_id, layer, neuron, sequence_id, position, activation < 0 as is_negative
    from store.contexts
    where (set_id, corpus_id) not in (select (set_id, corpus_id) from store.pole_contexts)
),
lists as (
    select
        poles.set_id,
        poles.layer,
        poles.neuron,
        projections.score_sd,
        case
            when poles.is_negative then projections.score_mean - projections.bottom_scores[1]
            else projections.top_scores[1] - projections.score_mean
        end / nullif(projections.score_sd, 0) as promoted_z,
        case when poles.is_negative then projections.bottom_token_ids else projections.top_token_ids end[1:20] as ids,
    from poles
    inner join store.projections as projections
        on projections.set_id = poles.set_id and projections.layer = poles.layer and projections.neuron = poles.neuron
),
listings as (
    select set_id, layer, token_id, count(*) as n_lists
    from (select set_id, layer, unnest(ids) as token_id from lists)
    group by set_id, layer, token_id
),
places as (
    select corpus_id, sequence_id, unnest(tokens) as token_id, unnest(range(len(tokens))) as position
    from store.sequences
    where corpus_id in (select corpus_id from contexts)
),
judged as (
    select
        poles.set_id,
        poles.layer,
        poles.neuron,
        places.token_id,
        list_contains(lists.ids, places.token_id) as is_promoted,
    from poles
    inner join contexts
        on
            contexts.set_id = poles.set_id
            and contexts.corpus_id = poles.corpus_id
            and contexts.layer = poles.layer
            and contexts.neuron = poles.neuron
            and contexts.is_negative = coalesce(poles.is_negative, false)
    inner join places
        on
            places.corpus_id = contexts.corpus_id
            and places.sequence_id = contexts.sequence_id
            and places.position = contexts.position
    inner join lists on lists.set_id = poles.set_id and lists.layer = poles.layer and lists.neuron = poles.neuron
),
inputs as (
    select
        judged.set_id,
        judged.layer,
        judged.neuron,
        count(*)::integer as n_strongest_contexts,
        avg(judged.is_promoted::integer::double) as input_score,
        avg((coalesce(listings.n_lists, 0) - judged.is_promoted::integer)::double)
        / nullif(any_value(layers.n_units) - 1, 0) as input_other_score,
    from judged
    inner join store.unit_layers as layers on layers.set_id = judged.set_id and layers.layer = judged.layer
    left join listings
        on
            listings.set_id = judged.set_id
            and listings.layer = judged.layer
            and listings.token_id = judged.token_id
    group by judged.set_id, judged.layer, judged.neuron
)
update store.neuron_facts as facts set
    promoted_z = measured.promoted_z,
    read_z = measured.read_z,
    n_strongest_contexts = measured.n_strongest_contexts,
    input_score = measured.input_score,
    input_other_score = measured.input_other_score,
    massive_ratio = measured.massive_ratio,
    has_super_weight = measured.has_super_weight
from (
    select
        poles.set_id,
        poles.layer,
        poles.neuron,
        lists.promoted_z,
        (reads.top_scores[1] - reads.score_mean) / nullif(reads.score_sd, 0) as read_z,
        inputs.n_strongest_contexts,
        inputs.input_score,
        inputs.input_other_score,
        case
            when massive.input_neuron = poles.neuron
                then abs(massive.input_largest::double) / nullif(massive.input_mean, 0)
        end as massive_ratio,
        case
            when massive.layer is not null
                then
                    massive.input_neuron = poles.neuron
                    and coalesce(
                        abs(massive.output_largest::double) / nullif(massive.output_mean, 0) >= 1000
                        and massive.weight_share >= 0.5,
                        false
                    )
        end as has_super_weight,
    from poles
    left join lists on lists.set_id = poles.set_id and lists.layer = poles.layer and lists.neuron = poles.neuron
    left join store.key_projections as reads
        on
            reads.set_id = poles.set_id
            and reads.layer = poles.layer
            and reads.neuron = poles.neuron
            and reads.reader in ('key', 'gate')
    left join inputs on inputs.set_id = poles.set_id and inputs.layer = poles.layer and inputs.neuron = poles.neuron
    left join store.massive_activations as massive
        on massive.model_id = poles.set_id and massive.corpus_id = poles.corpus_id and massive.layer = poles.layer
) as measured
where measured.set_id = facts.set_id and measured.layer = facts.layer and measured.neuron = facts.neuron
"""

NEURON_FACTS = Table(
    "neuron_facts",
    "One flat row per neuron of the shown corpus, rebuilt by every publish and pin: what the view neurons reads.",
    scope="set",
    key=("layer", "neuron"),
    columns={
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "corpus_id": Column(INTEGER, "The shown corpus; null before any text was measured.", nullable=True),
        "address": Column(TEXT, "Address of the neuron, e.g. opt-125m/L3N1702."),
        "depth": Column(DOUBLE, "(layer + 0.5) / n_layers."),
        "value_norm": Column(DOUBLE, "L2 norm of the value vector.", nullable=True),
        "score_mean": Column(DOUBLE, "Mean raw score over the vocabulary.", nullable=True),
        "score_sd": Column(DOUBLE, "Standard deviation of the raw scores.", nullable=True),
        "score_skewness": Column(DOUBLE, "Skewness of the raw scores.", nullable=True),
        "score_kurtosis": Column(DOUBLE, "Excess kurtosis of the raw scores.", nullable=True),
        "score_negative_share": Column(DOUBLE, "Share of negative raw scores.", nullable=True),
        "preactivation_bound": Column(DOUBLE, "Upper bound of the pre-activation over all inputs.", nullable=True),
        "top_tokens": Column(TEXTS, "Text of the first ten promoted tokens, best first.", nullable=True),
        "bottom_tokens": Column(TEXTS, "Text of the first ten suppressed tokens, lowest first.", nullable=True),
        "top_token_log_frequency": Column(
            DOUBLE,
            "Mean natural logarithm of (1 + corpus count) over the listed tokens that it promotes, of a gated "
            "model at the sign of its largest coefficient.",
            nullable=True,
        ),
        "n_positions": Column(BIG, "Counted positions of the shown corpus, all domains.", nullable=True),
        "n_active": Column(BIG, "Of these, those at which the neuron was active.", nullable=True),
        "n_active_bos": Column(BIG, "Sequences in which it was active at the prepended BOS.", nullable=True),
        "activation_sum": Column(DOUBLE, "Sum of its coefficient.", nullable=True),
        "activation_min": Column(DOUBLE, "Smallest coefficient.", nullable=True),
        "activation_max": Column(DOUBLE, "Largest coefficient.", nullable=True),
        "first_active": Column(
            BIG,
            "Counted positions before its first activation, the domains taken in the corpus's order.",
            nullable=True,
        ),
        "unigram_active": Column(
            BIG,
            "Activations on tokens: n_active of store.ngrams for n = 1; null before the job ngrams has run, "
            "like the columns after it.",
            nullable=True,
        ),
        "unigrams_95": Column(BIG, "Fewest tokens that hold 95% of them: the unigram coverage.", nullable=True),
        "trigger_share": Column(
            DOUBLE,
            "Share of the activations on its five most frequent triggering tokens; null for a neuron that never fires.",
            nullable=True,
        ),
        "trigger_recall": Column(
            DOUBLE, "Share of the occurrences of these five at which it was active.", nullable=True
        ),
        "trigger_z": Column(DOUBLE, "Mean z-score of these five.", nullable=True),
        "detected_active": Column(
            BIG,
            "Activations on the stored triggers that occur at least 10 times with a recall of at least 95%.",
            nullable=True,
        ),
        "detected_score": Column(DOUBLE, "Mean raw score of these; null where there are none.", nullable=True),
        "detected_tokens": Column(TEXTS, "Texts of these, by token id; null where there are none.", nullable=True),
        "n_position_sequences": Column(
            BIG,
            "Full-length sequences of the shown corpus behind the position profile; null before it was measured.",
            nullable=True,
        ),
        "mutual_information": Column(
            DOUBLE, "Mutual information of position and being active, nats, as counted.", nullable=True
        ),
        "mutual_information_corrected": Column(
            DOUBLE, "The same less its Miller-Madow bias, not below 0.", nullable=True
        ),
        "n_switches": Column(INTEGER, "Alternations of on-runs and off-runs in the position profile.", nullable=True),
        "n_on_runs": Column(INTEGER, "On-runs of the position profile.", nullable=True),
        "n_off_runs": Column(INTEGER, "Off-runs of the position profile.", nullable=True),
        "weakest_on": Column(DOUBLE, "Smallest frequency of an on-run; null where there is none.", nullable=True),
        "weakest_off": Column(DOUBLE, "Largest frequency of an off-run; null where there is none.", nullable=True),
        "roughness": Column(DOUBLE, "Roughness of the position profile beyond counting noise.", nullable=True),
        "times_dominant": Column(
            BIG,
            "Examples of the shown corpus in which it was active and among the ten dominant neurons of its "
            "layer; null before events were measured.",
            nullable=True,
        ),
        "times_saturating": Column(
            BIG,
            "Examples whose saturation its layer's FFN brought about while it was dominant and its score for "
            "the final token exceeded what it adds to every token alike.",
            nullable=True,
        ),
        "clustering_id": Column(INTEGER, "The shown clustering; null before there is one.", nullable=True),
        "cluster_id": Column(INTEGER, "Its cluster in the shown clustering.", nullable=True),
        "cluster_size": Column(INTEGER, "Neurons of that cluster.", nullable=True),
        "coherence": Column(
            DOUBLE,
            "Coherence of the tokens that it promotes on the shown corpus, of a gated model at the sign of its "
            "largest coefficient.",
            nullable=True,
        ),
        "coherence_z": Column(
            DOUBLE, "The same in standard deviations above the layer's random vectors.", nullable=True
        ),
        "coherence_percentile": Column(
            DOUBLE, "Share of the layer's random vectors with a smaller coherence, in percent.", nullable=True
        ),
        "effect_on_loss": Column(
            DOUBLE,
            "What turning it off alone adds to the loss on the shown corpus, nats a token; null where that was "
            "not measured.",
            nullable=True,
        ),
        "effect_percentile": Column(
            DOUBLE,
            "Percent of the random neurons of its layer, itself left out, whose effect is smaller; of equal "
            "ones half counts; null of fewer than 20.",
            nullable=True,
        ),
        "effective_frequency": Column(
            DOUBLE,
            "(sum |m|)^2 / (N * sum m^2) over the N counted positions of the shown corpus; null for a neuron that is "
            "always 0.",
            nullable=True,
            since=32,
            filling=_FILL_EFFECTIVE_FREQUENCY,
        ),
        "contribution_max": Column(
            DOUBLE,
            "Largest share |m| ||v|| / ||FFN output|| of its FFN's output; null before the job poles has run.",
            nullable=True,
            since=32,
            filling=_FILL_CONTRIBUTION_MAX,
        ),
        "logit_variance": Column(
            DOUBLE,
            "Variance over the vocabulary of the cosines of its value vector with the unembedding's rows; null before "
            "the job entropy has run, like the columns after it.",
            nullable=True,
            since=34,
        ),
        "null_share": Column(
            DOUBLE,
            "Share of its squared length in the directions that move no logit against another.",
            nullable=True,
            since=34,
        ),
        "is_entropy_neuron": Column(
            FLAG,
            "That share is above that of all random vectors of its layer, and it is at least as long as half of the "
            "layer's value vectors.",
            nullable=True,
            since=34,
        ),
        "count_correlation": Column(
            DOUBLE, "Correlation of its scores with ln(1 + corpus count) over tokens.", nullable=True, since=34
        ),
        "is_frequency_neuron": Column(
            FLAG,
            "That correlation is stronger than that of all random vectors of its layer, and it is at least as long as "
            "half of the layer's value vectors.",
            nullable=True,
            since=34,
        ),
        "domain_entropy": Column(
            DOUBLE,
            "Entropy of its frequencies over domains, 0 to 1; null before the job selectivity has run.",
            nullable=True,
            since=34,
        ),
        "selective_domain": Column(
            TEXT,
            "The domain that it is active in most, where shuffled domains make that entropy as small at most once in a "
            "hundred; null where it is not selective.",
            nullable=True,
            since=34,
        ),
        "trigger_tokens": Column(
            TEXTS,
            "Texts of the first three tokens that trigger it most; null before the job ngrams has run.",
            nullable=True,
            since=34,
            filling=_FILL_TRIGGER_TOKENS,
        ),
        "read_tokens": Column(
            TEXTS,
            "Texts of the first three tokens that its key, or its gate, reads; null before the job keys has run.",
            nullable=True,
            since=34,
            filling=_FILL_READ_TOKENS,
        ),
        "output_score": Column(
            DOUBLE,
            "(1 - rank / W) * probability of the most probable token that it promotes, once it is set to ten times its "
            "largest activation; null where the job output_scores did not turn it up.",
            nullable=True,
            since=38,
            filling=_FILL_OUTPUT_SCORE,
        ),
        "output_percentile": Column(
            DOUBLE,
            "Percent of the lists of other neurons of its layer whose score is then smaller; null likewise.",
            nullable=True,
            since=38,
            filling=_FILL_OUTPUT_PERCENTILE,
        ),
        "promoted_z": Column(
            DOUBLE,
            "z-score of the first token that it promotes, of a gated model at the sign of its largest coefficient; "
            "null where all scores are the same.",
            nullable=True,
            since=39,
        ),
        "read_z": Column(
            DOUBLE,
            "z-score of the first token that its key, or its gate, reads; null before the job keys has run.",
            nullable=True,
            since=39,
        ),
        "n_strongest_contexts": Column(
            INTEGER,
            "Its strongest contexts, of a gated model at the sign of its largest coefficient, else those above 0; null "
            "without any, like the two columns after it.",
            nullable=True,
            since=39,
        ),
        "input_score": Column(
            DOUBLE, "Share of these whose token is among the 20 that it promotes there.", nullable=True, since=39
        ),
        "input_other_score": Column(
            DOUBLE,
            "Mean of the same share over the lists of the layer's other neurons; null in a layer of one.",
            nullable=True,
            since=39,
        ),
        "massive_ratio": Column(
            DOUBLE,
            "Where a coefficient of its own is the layer's farthest from 0: its size over the mean size of all; null "
            "of others and before the job massive has run.",
            nullable=True,
            since=39,
        ),
        "has_super_weight": Column(
            FLAG,
            "It is that neuron, and one weight of its own makes at least half of the layer's largest output, which is "
            "at least 1000 times the mean; null before the job massive has run.",
            nullable=True,
            since=39,
            filling=_FILL_VERSION_39,
        ),
    },
)
