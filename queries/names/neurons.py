"""Addresses of neurons, `opt-125m/L3N1702`: read, checked against the warehouse, written."""

import re
from dataclasses import dataclass

import duckdb

from queries.ask.statements import ask_records
from queries.errors import BadAddress, UnknownNeuron
from queries.names.models import choose_models

_ADDRESS = re.compile(r"(?P<model>[A-Za-z0-9._@+-]+)/[Ll](?P<layer>\d{1,5})[Nn](?P<neuron>\d{1,9})")


@dataclass(frozen=True)
class NamedModel:
    """The model of an address.

    Attributes:
        model_id: its number in the file.
        name: its name.
        family: models of one family differ in size or variant only.
        variant: None for a plain size; else what sets the model apart.
        size: parameters without embeddings.
        n_layers: number of blocks.
        d_ffn: feed-forward neurons per layer.
        tokenizer_id: its tokenizer.
        has_exact_zeros: whether its non-linearity gives exact zeros, so that a neuron can be dead.
    """

    model_id: int
    name: str
    family: str
    variant: str | None
    size: int
    n_layers: int
    d_ffn: int
    tokenizer_id: int
    has_exact_zeros: bool


@dataclass(frozen=True)
class NeuronAddress:
    """A neuron that exists in the warehouse.

    Attributes:
        of: its model.
        layer: its layer.
        neuron: its place in the layer.
    """

    of: NamedModel
    layer: int
    neuron: int

    @property
    def model_id(self) -> int:
        """Number of its model in the file."""
        return self.of.model_id

    @property
    def model(self) -> str:
        """Name of its model."""
        return self.of.name

    def __str__(self) -> str:
        """The address as people write it."""
        return f"{self.model}/L{self.layer}N{self.neuron}"


def find_neuron(connection: duckdb.DuckDBPyConnection, address: str) -> NeuronAddress:
    """The neuron at an address.

    Raises:
        BadAddress: the text is no address.
        UnknownModel: no model has the name.
        UnknownNeuron: the model has fewer layers or neurons.
    """
    found = _ADDRESS.fullmatch(address.strip())
    if found is None:
        raise BadAddress(address)
    named = ask_records(connection, "model_named", {"model": found["model"]})
    if not named:
        choose_models(connection, [found["model"]])
    (model,) = (NamedModel(**row) for row in named)
    layer, neuron = int(found["layer"]), int(found["neuron"])
    if layer >= model.n_layers or neuron >= model.d_ffn:
        raise UnknownNeuron(address, model.n_layers, model.d_ffn)
    return NeuronAddress(model, layer, neuron)
