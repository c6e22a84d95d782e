"""The flat table of neurons; `flat_rows` has the SQL that writes it."""

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
        ),
        "contribution_max": Column(
            DOUBLE,
            "Largest share |m| ||v|| / ||FFN output|| of its FFN's output; null before the job poles has run.",
            nullable=True,
            since=32,
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
        ),
        "read_tokens": Column(
            TEXTS,
            "Texts of the first three tokens that its key, or its gate, reads; null before the job keys has run.",
            nullable=True,
            since=34,
        ),
        "output_score": Column(
            DOUBLE,
            "(1 - rank / W) * probability of the most probable token that it promotes, once it is set to ten times its "
            "largest activation; null where the job output_scores did not turn it up.",
            nullable=True,
            since=38,
        ),
        "output_percentile": Column(
            DOUBLE,
            "Percent of the lists of other neurons of its layer whose score is then smaller; null likewise.",
            nullable=True,
            since=38,
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
        ),
    },
)
