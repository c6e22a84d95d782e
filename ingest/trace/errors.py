"""What cannot be asked of one neuron's switch."""

from neurothek.catalog.errors import NeurothekError


class NoNextToken(NeurothekError):
    """A switch in a model that does not say the next token."""

    def __init__(self, architecture: str) -> None:
        super().__init__(
            f"{architecture} models are masked ones: they fill in tokens and do not predict the next one, so a neuron's"
            " switch changes none; use a causal model"
        )


class NobodyBeside(NeurothekError):
    """A neuron without others of its layer to compare it with."""

    def __init__(self, layer: int) -> None:
        super().__init__(
            f"layer {layer} has no other neuron, and a switch is shown only beside random ones; choose another layer"
        )


class ValueOverflows(NeurothekError):
    """A value so large that the model says no finite number."""

    def __init__(self, value: float) -> None:
        super().__init__(f"with a neuron set to {value:g} the numbers of the model overflow; give a value nearer to 0")
