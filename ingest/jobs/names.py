"""What can be asked for by name: jobs, in the order in which they are measured, and shortcuts."""

JOBS = (
    *("projections", "clusters", "activity", "contexts", "ngrams", "positions", "controls", "events", "shortcuts"),
    "exits",
)
"""All jobs on one model."""

PAIR_JOBS = ("counterparts",)
"""The jobs on two."""

OF_MASKED = ("projections", "clusters", "shortcuts", "exits")
"""Those that a model which fills in masked tokens can be asked for: the others need one that says the next token."""

OF_WEIGHTS = ("projections", "clusters")
"""Those that read no text."""

SHORTCUTS = ("id", "mat", "mat_attn", "mat_ffn", "mat_ln1_ln2")
"""What the job shortcuts tries, for a model that allows all of it."""
