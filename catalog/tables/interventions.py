"""Tables of interventions: which neurons of a model were changed, and what that did to what it says."""

from neurothek.catalog.tables.table import BIG, DOUBLE, FLAG, INTEGER, SMALL, TEXT, Table

LEAST_SETS = 20
"""A percentile among fewer random neurons, or sets of them, is not shown [ours]; `least_sets` in views."""

INTERVENTIONS = Table(
    name="interventions",
    scope="model_corpus",
    key=("intervention",),
    columns={
        "intervention": TEXT,
        "asked": TEXT,
        "kind": TEXT,
        "how": TEXT,
        "value": DOUBLE,
        "moment": TEXT,
        "n_neurons": INTEGER,
        "n_sets": SMALL,
        "seed": INTEGER,
        "watched": TEXT,
        "positions": TEXT,
    },
    # Only those that turn a kind off have one; the mean of the corpus is another value for each neuron.
    nullable=frozenset({"kind", "value", "watched", "positions"}),
)

INTERVENTION_NEURONS = Table(
    name="intervention_neurons",
    scope="model_corpus",
    key=("intervention", "set_number", "layer", "neuron"),
    columns={"intervention": TEXT, "set_number": SMALL, "layer": SMALL, "neuron": INTEGER},
)

INTERVENTION_EFFECTS = Table(
    name="intervention_effects",
    scope="model_corpus",
    key=("intervention", "set_number", "domain", "position_from"),
    columns={
        "intervention": TEXT,
        "set_number": SMALL,
        "domain": TEXT,
        "position_from": INTEGER,
        "n_tokens": BIG,
        "nll": DOUBLE,
        "nll_untouched": DOUBLE,
        "kl": DOUBLE,
        "mass_promoted": DOUBLE,
        "mass_promoted_untouched": DOUBLE,
        "mass_suppressed": DOUBLE,
        "mass_suppressed_untouched": DOUBLE,
        "window_weight": DOUBLE,
        "nll_windows": DOUBLE,
        "nll_windows_untouched": DOUBLE,
        "mass_watched": DOUBLE,
        "mass_watched_untouched": DOUBLE,
    },
    # Tokens are not asked for by all; sums over windows are not among what earlier releases measured.
    nullable=frozenset(
        {"window_weight", "nll_windows", "nll_windows_untouched", "mass_watched", "mass_watched_untouched"}
    ),
)

CONTINUATIONS = Table(
    name="continuations",
    scope="model_corpus",
    key=("intervention", "method", "set_number", "prompt_number"),
    columns={
        "intervention": TEXT,
        "method": TEXT,
        "set_number": SMALL,
        "prompt_number": INTEGER,
        "prompt": TEXT,
        "continuation": TEXT,
        "n_tokens": INTEGER,
    },
)

ATTRIBUTE_SCORES = Table(
    name="attribute_scores",
    scope="model_corpus",
    key=("intervention", "method", "set_number", "prompt_number", "scorer", "attribute"),
    columns={
        "intervention": TEXT,
        "method": TEXT,
        "set_number": SMALL,
        "prompt_number": INTEGER,
        "scorer": TEXT,
        "attribute": TEXT,
        "score": DOUBLE,
    },
)

NEURON_EFFECTS = Table(
    name="neuron_effects",
    scope="model_corpus",
    key=("layer", "neuron"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "is_control": FLAG,
        "n_tokens": BIG,
        "nll": DOUBLE,
        "nll_untouched": DOUBLE,
        "kl": DOUBLE,
    },
)

JOB_TABLES = {
    "interventions": (INTERVENTIONS, INTERVENTION_NEURONS, INTERVENTION_EFFECTS),
    "continuations": (CONTINUATIONS, ATTRIBUTE_SCORES),
    "neuron_effects": (NEURON_EFFECTS,),
}
