"""Where each neuron fires most strongly."""
