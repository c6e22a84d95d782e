"""What each neuron's key reads: the tokens whose embeddings it likes most."""
