"""The weights of a model where they are needed: on its device and in the run's number format, or as stored."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from neurothek.ingest.models.families.family import Family
from neurothek.ingest.models.families.parameters import Parameters
from neurothek.ingest.models.families.skeletons import Skeleton


@dataclass(eq=False)
class Loader:
    """Reads the tensors of one model.

    Attributes:
        built: its modules, without weights until they are filled.
        parameters: its tensors on disk.
        device: where they are to lie.
        dtype: the number format of the run.
        is_resident: whether what was read may stay.
    """

    built: Skeleton
    parameters: Parameters
    device: torch.device
    dtype: torch.dtype
    is_resident: bool

    @property
    def family(self) -> Family:
        """The family of the model."""
        return self.built.family

    def here(self, tensor: Tensor) -> Tensor:
        """A tensor as the run needs it; nothing is copied where nothing has to change."""
        return tensor.to(self.device, self.dtype)

    def read(self, name: str) -> Tensor:
        """A tensor by the name transformers gives it, as the run needs it."""
        return self.here(self.parameters.read(name))

    def float32(self, name: str) -> Tensor:
        """A tensor by its name in full precision, whatever the run's."""
        return self.parameters.read(name).to(self.device, torch.float32)

    def table(self, path: str | None) -> Tensor | None:
        """An embedding table: whole on the device if it may stay there, else mapped from disk and read by rows."""
        if path is None:
            return None
        table = self.parameters.read(f"{path}.weight")
        return self.here(table) if self.is_resident and self.device.type != "cpu" else table

    def filled(self, path: str | None) -> nn.Module | None:
        """The module at a path with its weights; None where the model has none there."""
        module = None if path is None else self.built.module(path)
        if module is not None:
            self.fill_(module, str(path))
        return module

    def fill_(self, module: nn.Module, path: str) -> None:
        """Put the weights of the module at a path in place."""
        tensors = {name: self.read(f"{path}.{name}") for name in module.state_dict()}
        # Assigned, not copied: weights that are stored as they are used stay mapped pages of the file.
        module.load_state_dict(tensors, assign=True)
