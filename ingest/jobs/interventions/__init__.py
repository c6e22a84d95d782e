"""What neurons are worth: the loss of a model in which some of them are changed, beside random ones of their kind."""
