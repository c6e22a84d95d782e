"""Tables of what is measured on a text: activations, n-grams, positions, examples, coherence."""

import polars as pl

from neurothek.catalog.tables.table import (
    BIG,
    CORPUS,
    COUNTS,
    DOUBLE,
    FLOAT,
    IDS,
    INTEGER,
    LAYER,
    MODEL,
    NEURON,
    RUN,
    SCORES,
    SET,
    SMALL,
    STEPS,
    TEXT,
    Column,
    Table,
)

ACTIVITY = Table(
    "activity",
    "One row per neuron and domain: how it fired on the counted positions (Voita et al. 2023, section 3; that a "
    "prepended BOS is not counted is ours).",
    scope="set_corpus",
    key=("layer", "neuron", "domain"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "domain": Column(TEXT, "Domain of the corpus; sums over domains are the whole."),
        "n_positions": Column(BIG, "Counted positions of the domain."),
        "n_active": Column(BIG, "Counted positions at which the neuron was active."),
        "n_active_bos": Column(
            BIG, "Sequences in which it was active at the prepended BOS, which is not a counted position."
        ),
        "activation_bos": Column(
            DOUBLE, "Its mean coefficient at the prepended BOS; null where none is prepended.", nullable=True
        ),
        "activation_sum": Column(DOUBLE, "Sum of its coefficient m."),
        "activation_abs_sum": Column(DOUBLE, "Sum of |m|."),
        "activation_square_sum": Column(DOUBLE, "Sum of m squared."),
        "activation_min": Column(FLOAT, "Smallest m."),
        "activation_max": Column(FLOAT, "Largest m."),
        "n_above": Column(COUNTS, "Counted positions with |m| above 0.1, 0.5, 1 and 2."),
        "first_active": Column(
            BIG, "Counted positions of the domain before its first activation; null if never active.", nullable=True
        ),
        "run_id": RUN,
    },
)

CONTEXTS = Table(
    "contexts",
    "One row per neuron and place of strongest activation, at most one a sequence.",
    scope="set_corpus",
    key=("layer", "neuron", "rank"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "rank": Column(SMALL, "Place by |m|, 1-based; ties by sequence, then position."),
        "activation": Column(FLOAT, "The coefficient m there, sign kept."),
        "sequence_id": Column(INTEGER, "Sequence of the corpus."),
        "position": Column(INTEGER, "Position in the sequence, 0-based."),
        "run_id": RUN,
    },
)

CONTEXT_WINDOWS = Table(
    "context_windows",
    "One row per neuron, band and rank: its activation at every position around a place. Windows lie within a "
    "sequence and hold counted positions only.",
    scope="set_corpus",
    key=("layer", "neuron", "band", "rank"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "band": Column(
            TEXT,
            "strongest (the sequences with the largest |m|), quantile (a random sample of the sequences in "
            "which it fires) or random (positions drawn of the whole corpus, the same for every neuron).",
        ),
        "rank": Column(
            SMALL,
            "From 1: by the largest |m| of the sequence, ties by sequence; of random ones the order in which "
            "they were drawn.",
        ),
        "sequence_id": Column(INTEGER, "Sequence of the corpus."),
        "position": Column(INTEGER, "The place: of the largest |m| of the sequence, or the one drawn; 0-based."),
        "n_before": Column(SMALL, "Positions of the window before the place, at most 40."),
        "n_after": Column(SMALL, "Positions of the window after the place, at most 22."),
        "nonzero": Column(
            BIG,
            "Bit i, from the lowest and from 0, is set where the coefficient m at position i of the window is not 0.",
        ),
        "largest": Column(FLOAT, "The largest |m| of the window."),
        "activations": Column(
            STEPS,
            "The coefficient m where it is not 0, in order, as an integer: m is integer * largest / 127, right "
            "to half of largest / 127.",
        ),
        "run_id": RUN,
    },
)

ACTIVATION_HISTOGRAMS = Table(
    "activation_histograms",
    "One row per neuron: how often its coefficient is of which size and sign, in bins of half a power of two.",
    scope="set_corpus",
    key=("layer", "neuron"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "n_positions": Column(
            BIG,
            "Counted positions that were counted: those of all sequences, or of sequences drawn until they have "
            "32,768.",
        ),
        "first_bin": Column(
            SMALL,
            "Bin of the first count: 0 is m = 0, 1 is below 2^-8, 2 from there to 1.5 * 2^-8, 3 to 2^-7 and so "
            "on, 34 is 2^8 and more; -n is the bin n of negative m.",
        ),
        "counts": Column(COUNTS, "Positions whose m lies in each bin, from first_bin to the last bin with any."),
        "run_id": RUN,
    },
)

POSITIONS = Table(
    "positions",
    "One row per model, corpus, layer, neuron and domain, over full-length sequences: how the frequency depends "
    "on the position; a row all for every neuron, one a domain where that row has at least 0.01 nats.",
    scope="set_corpus",
    key=("layer", "neuron", "domain"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "domain": Column(TEXT, "all, or a domain of the corpus."),
        "n_sequences": Column(BIG, "Full-length sequences behind the row."),
        "first_position": Column(INTEGER, "First counted position: 1 where a BOS is prepended, else 0."),
        "mutual_information": Column(
            DOUBLE,
            "Mutual information of position and being active, nats, as counted; null without a full-length sequence.",
            nullable=True,
        ),
        "mutual_information_corrected": Column(
            DOUBLE,
            "The same less its Miller-Madow bias, not below 0; null without a full-length sequence.",
            nullable=True,
        ),
        "n_switches": Column(INTEGER, "Alternations of on-runs and off-runs in the order of positions."),
        "n_on_runs": Column(
            INTEGER,
            "Long stretches of positions at which it fires in at least 90% of the sequences, and clearly more "
            "than on average.",
        ),
        "n_off_runs": Column(
            INTEGER,
            "Long stretches of positions at which it fires in at most 10% of the sequences, and clearly less "
            "than on average.",
        ),
        "weakest_on": Column(DOUBLE, "Smallest frequency of an on-run; null where there is none.", nullable=True),
        "weakest_off": Column(DOUBLE, "Largest frequency of an off-run; null where there is none.", nullable=True),
        "roughness": Column(
            DOUBLE,
            "Root mean square distance of a frequency from the mean of its two neighbours, less counting noise; "
            "null below two sequences or three positions.",
            nullable=True,
        ),
        "counts_64": Column(
            COUNTS,
            "Sequences in which it was active, summed over 64 equal bins of counted positions: the p-th of n "
            "lies in bin floor(64 p / n); fewer than 64 positions are a bin each.",
        ),
        "counts": Column(
            COUNTS,
            "Sequences in which it was active at each counted position; kept where the row has at least 0.01 "
            "nats, else null.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

NGRAMS = Table(
    "ngrams",
    "One row per neuron and length of n-gram (1, 2, 3): how many n-grams trigger it, and how few cover it (Voita "
    "et al. 2023, section 4).",
    scope="set_corpus",
    key=("layer", "neuron", "n"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "n": Column(SMALL, "Length of the n-grams."),
        "n_active": Column(BIG, "Active positions at which a full n-gram ends, inside one sequence and without BOS."),
        "n_distinct": Column(BIG, "Distinct n-grams that end there."),
        "n_covering_50": Column(BIG, "Fewest n-grams that hold 50% of n_active."),
        "n_covering_80": Column(BIG, "Fewest n-grams that hold 80% of n_active."),
        "n_covering_90": Column(BIG, "Fewest n-grams that hold 90% of n_active."),
        "n_covering_95": Column(BIG, "Fewest n-grams that hold 95% of n_active: the coverage."),
        "n_covering_99": Column(BIG, "Fewest n-grams that hold 99% of n_active."),
        "run_id": RUN,
    },
)

TRIGGERS = Table(
    "triggers",
    "One row per neuron, length of n-gram and frequent trigger. Where n_covering_95 <= 64: the 64 most frequent, "
    "then all others that occur at least 10 times with a recall of at least 50%; elsewhere the 10 (n = 1) or 5 "
    "most frequent.",
    scope="set_corpus",
    key=("layer", "neuron", "n", "rank"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "n": Column(SMALL, "Length of the n-gram."),
        "rank": Column(
            SMALL,
            "Place by n_active, 1-based, ties by ids; places beyond 64 are numbered on, although n-grams that "
            "could make no detector are left out.",
        ),
        "token_ids": Column(IDS, "Ids of the n-gram, in the order of the text."),
        "n_active": Column(BIG, "Positions at which the n-gram ends and the neuron was active."),
        "n_occurrences": Column(BIG, "Positions at which the n-gram ends."),
        "score": Column(
            FLOAT, "Raw score e_w . v of the token; null for longer n-grams, like all scores here.", nullable=True
        ),
        "z_score": Column(
            FLOAT,
            "(score - mean) / standard deviation over the neuron's scores; 0 where they are all equal.",
            nullable=True,
        ),
        "score_centred": Column(FLOAT, "score minus the mean of the neuron's scores.", nullable=True),
        "rank_from_bottom": Column(
            INTEGER, "1 + number of unmasked tokens with a lower score: 1 is the most suppressed.", nullable=True
        ),
        "control_scores": Column(
            SCORES,
            "Raw scores of 100 tokens drawn with a seed, with replacement, from those as frequent in the corpus "
            "(the same tenth of its tokens by frequency): the base rate of suppression. Null unless "
            "n_covering_95 <= 64, n_occurrences >= 10 and recall >= 50%.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

SHUFFLED_NGRAMS = Table(
    "shuffled_ngrams",
    "One row per length of n-gram and neuron of a sample, 128 a layer and evenly spread: what ngrams and triggers hold "
    "of it once its activations are shuffled over the positions of each sequence. What chance would call a detector "
    "(ours).",
    scope="set_corpus",
    key=("layer", "neuron", "n"),
    is_later=True,
    since=31,
    columns={
        "set_id": Column(INTEGER, "The set of units: of the neurons of a model, the model's number.", is_given=True),
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "n": Column(SMALL, "Length of the n-grams."),
        "n_active": Column(BIG, "Shuffled activations at which a full n-gram ends."),
        "n_distinct": Column(BIG, "Distinct n-grams that end there."),
        "n_covering_95": Column(BIG, "Fewest n-grams that hold 95% of n_active."),
        "detected_active": Column(
            BIG,
            "Activations on n-grams that occur at least 10 times and activate it 95% of the time; null where "
            "n_covering_95 is above 64.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

NGRAM_SPECTRUM = Table(
    "ngram_spectrum",
    "One row per length of n-gram and number of occurrences: how many n-grams of the corpus occur so often. It "
    "says what could be detected, and the corpus's own coverage.",
    scope="model_corpus",
    key=("n", "n_occurrences"),
    columns={
        "model_id": Column(INTEGER, "The model whose run counted.", is_given=True),
        "corpus_id": CORPUS,
        "n": Column(SMALL, "Length of the n-grams."),
        "n_occurrences": Column(BIG, "Number of occurrences."),
        "n_distinct": Column(BIG, "Distinct n-grams that occur so often."),
        "run_id": RUN,
    },
)


_COHERENCE = {"coherence": DOUBLE, "coherence_z": DOUBLE, "coherence_percentile": DOUBLE}
_NEGATIVE = {f"negative_{name}": kind for name, kind in _COHERENCE.items()}

_ONE_VECTOR = pl.lit(100 / 500)

COHERENCES = Table(
    "coherences",
    "One row per neuron and corpus: how alike the tokens are that it promotes, against random vectors.",
    scope="set_corpus",
    key=("layer", "neuron"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "coherence": Column(
            DOUBLE,
            "Mean pairwise cosine of the centred embeddings of its 30 highest tokens among those that are not "
            "special and come at least 10 times in the corpus; null where fewer than two do.",
            nullable=True,
        ),
        "coherence_z": Column(
            DOUBLE,
            "Coherence less the mean over the layer's 500 random vectors, over their standard deviation; null "
            "where they do not differ.",
            nullable=True,
        ),
        "coherence_percentile": Column(
            DOUBLE,
            "Share of these random vectors with a smaller coherence, in percent; equal ones count half.",
            nullable=True,
            step=_ONE_VECTOR,
        ),
        "run_id": RUN,
        "negative_coherence": Column(
            DOUBLE,
            "Coherence of what a neuron of a gated model promotes at coefficients below 0; null in other models.",
            nullable=True,
        ),
        "negative_coherence_z": Column(
            DOUBLE,
            "The same less the mean over the layer's 500 random vectors, over their standard deviation.",
            nullable=True,
        ),
        "negative_coherence_percentile": Column(
            DOUBLE,
            "Share of these random vectors with a smaller coherence, in percent; equal ones count half.",
            nullable=True,
            step=_ONE_VECTOR,
        ),
    },
)

CONTROL_COHERENCES = Table(
    "control_coherences",
    "One row per control vector and corpus: how alike the tokens are that it promotes, against random vectors.",
    scope="model_corpus",
    key=("layer", "kind", "control_id"),
    part="kind",
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "kind": Column(
            TEXT,
            "random: coordinates drawn with the mean and spread of the layer's value vectors; ffn_update: the "
            "output of the layer's FFN at the end of an example.",
        ),
        "control_id": Column(INTEGER, "Number of the control within its layer and kind, 0-based."),
        "coherence": Column(
            DOUBLE,
            "Mean pairwise cosine of the centred embeddings of its 30 highest tokens among those that are not "
            "special and come at least 10 times in the corpus; null where fewer than two do.",
            nullable=True,
        ),
        "coherence_z": Column(
            DOUBLE,
            "Coherence less the mean over the layer's 500 random vectors, over their standard deviation; null "
            "where they do not differ.",
            nullable=True,
        ),
        "coherence_percentile": Column(
            DOUBLE,
            "Share of these random vectors with a smaller coherence, in percent; equal ones count half.",
            nullable=True,
            step=_ONE_VECTOR,
        ),
        "run_id": RUN,
    },
)
