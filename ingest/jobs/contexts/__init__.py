"""Where each neuron fires, what it does at every token there, and how large its activations are."""
