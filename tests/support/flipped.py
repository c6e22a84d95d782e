"""A gated model with some signs turned: the same function, and every second neuron's lists exchanged."""

from pathlib import Path
from shutil import copytree

import torch

from tests.support.models import edit_tensors


def flip(folder: Path, copy: Path, *, seed: int = 3) -> Path:
    """A copy of a tiny Llama, of which half of the neurons have negated up rows, biases of these and value vectors."""
    copytree(folder, copy)
    generator = torch.Generator().manual_seed(seed)

    def edit_(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if name.endswith("up_proj.weight")]:
            signs = torch.where(torch.rand(len(tensors[name]), generator=generator) < 0.5, -1.0, 1.0)
            tensors[name].mul_(signs[:, None])
            tensors[name.replace("up_proj", "down_proj")].mul_(signs)
            bias = tensors.get(name.replace(".weight", ".bias"))
            if bias is not None:
                bias.mul_(signs)

    return edit_tensors(copy, edit_)
