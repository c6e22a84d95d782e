"""Addresses of neurons, `opt-125m/L3N1702`: read, checked against the warehouse, written."""

import re
from dataclasses import dataclass

import duckdb

from queries.errors import BadAddress, UnknownNeuron
from queries.models import choose_models
from queries.statement import ask_records

_ADDRESS = re.compile(r"(?P<model>[A-Za-z0-9._@+-]+)/[Ll](?P<layer>\d{1,5})[Nn](?P<neuron>\d{1,9})")


@dataclass(frozen=True)
class NeuronAddress:
    """A neuron that exists in the warehouse.

    Attributes:
        model_id: number of its model in the file.
        model: name of its model.
        layer: its layer.
        neuron: its place in the layer.
        tokenizer_id: the model's tokenizer.
    """

    model_id: int
    model: str
    layer: int
    neuron: int
    tokenizer_id: int

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
    (model,) = named
    layer, neuron = int(found["layer"]), int(found["neuron"])
    if layer >= model["n_layers"] or neuron >= model["d_ffn"]:
        raise UnknownNeuron(address, model["n_layers"], model["d_ffn"])
    return NeuronAddress(model["model_id"], model["name"], layer, neuron, model["tokenizer_id"])
