"""What kind of thing a column holds, by its name: one place for terminals, notebooks, pages and charts."""

TOKENS = frozenset(
    {
        *("token", "tokens", "text", "matched", "neighbours", "top_tokens", "bottom_tokens", "promoted", "suppressed"),
        *("promotes", "shared_tokens", "tokens before", "tokens after", "tokens by id", "tokens by mat"),
        *("model_token", "writes"),
    }
)
"""Columns that hold tokens, in which white space must be seen."""

SHARES = frozenset(
    {
        *("dead_share", "first_half_dead_share", "provably_dead_share", "never_active_share", "frequency"),
        *("mean_frequency", "median_frequency", "observed", "observed_low", "observed_high", "expected", "difference"),
        *("saturated_share", "covered_share", "positional_share", "dominant_share", "top_share", "push_share"),
        *("cumulative_share", "effective_share"),
        *("mean_share", "accuracy", "accuracy_sd", "exited_share", "exited_accuracy", "agreement", "mean_jaccard"),
        *("share", "recall", "base_share", "push_gain", "probability_off", "change_off"),
    }
)
"""Columns that hold parts of 1, which pages and charts show in percent."""

NAMES_IN_NUMBERS = frozenset({"#", "layer", "neuron", "rank", "place", "position", "job_version"})
"""Whole numbers that say which one and not how many: they go without commas."""
