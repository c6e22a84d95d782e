"""Addresses of neurons, `opt-125m/L3N1702`: read, checked against the warehouse, written."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from neurothek.queries.errors.unknown_subjects import invalid_address, unknown_neuron
from neurothek.queries.names.models import KnownModel, choose_model

_ADDRESS = re.compile(r"(?P<model>[A-Za-z0-9._@+-]+)/[Ll](?P<layer>\d{1,5})[Nn](?P<neuron>\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class NeuronAddress:
    """A neuron that exists in the warehouse."""

    of: KnownModel  # its model
    layer: int  # its layer
    neuron: int  # its place in the layer

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


def is_address(text: str) -> bool:
    """Whether a text is written as an address, of whatever model."""
    return _ADDRESS.fullmatch(text.strip()) is not None


def find_neuron(
    connection: duckdb.DuckDBPyConnection, address: str, models: Sequence[KnownModel] = ()
) -> NeuronAddress:
    """The neuron at an address.

    Args:
        connection: a reader.
        address: what a person typed.
        models: the models that there are, where somebody asked for them before.
    """
    address_parts = _ADDRESS.fullmatch(address.strip())
    if address_parts is None:
        raise invalid_address(address)
    named = [model for model in models if model.name == address_parts["model"]]
    model = named[0] if named else choose_model(connection, address_parts["model"])
    layer, neuron = int(address_parts["layer"]), int(address_parts["neuron"])
    if layer >= model.n_layers or neuron >= model.d_ffn:
        raise unknown_neuron(address, model.n_layers, model.d_ffn)
    return NeuronAddress(model, layer, neuron)
