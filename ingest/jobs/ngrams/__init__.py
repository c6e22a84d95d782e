"""Which tokens and n-grams trigger each neuron."""
