"""Tables of interventions: which neurons of a model were changed, and what that did to what it says."""

from catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT, Table

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
    },
    # Only those that turn a kind off have one; the mean of the corpus is another value for each neuron.
    nullable=frozenset({"kind", "value"}),
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
    },
)

JOB_TABLES = {"interventions": (INTERVENTIONS, INTERVENTION_NEURONS, INTERVENTION_EFFECTS)}
