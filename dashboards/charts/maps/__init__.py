"""Many neurons in one picture: a model's layers, the kinds of a layer, profiles over positions."""
