"""How often each neuron fires, and how strongly."""
