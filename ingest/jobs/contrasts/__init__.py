"""Which units tell two sets of prompts apart, beside shuffled labels."""
