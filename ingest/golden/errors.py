"""What can be wrong with a question about published numbers."""

from collections.abc import Sequence

from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.suggestions import hint


class EntryUnknown(NeurothekError):
    """A name that is neither a published number's nor a model's that has any."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no published number named {name!r}; {hint(name, known)}")


class NotCached(NeurothekError):
    """A model that is not on this machine, where nothing may be downloaded."""

    def __init__(self, model: str) -> None:
        super().__init__(f"{model} is not in the hub's cache on this machine; add --download to fetch it")


class TextOnHub(NeurothekError):
    """A text that only the hub has, where nothing may be downloaded."""

    def __init__(self, text: str) -> None:
        super().__init__(f"the text {text} is read from the hub; add --download to read it")


class BosUnknown(NeurothekError):
    """A tokenizer without the token that the published number was measured after."""

    def __init__(self, bos: str) -> None:
        super().__init__(f"the tokenizer has no token {bos!r}; check that the model is the published one")


class NeuronBeyond(NeurothekError):
    """A neuron that the model does not have."""

    def __init__(self, layer: int, neuron: int, n_layers: int, d_ffn: int) -> None:
        super().__init__(
            f"there is no neuron L{layer}N{neuron} in {n_layers} layers of {d_ffn:,} neurons;"
            " check that the model is the published one"
        )
