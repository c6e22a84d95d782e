"""Which neuron of another model is active where each one is, beside a rotated basis."""
