"""Whether a model says what a neuron promotes once the neuron is turned up."""
