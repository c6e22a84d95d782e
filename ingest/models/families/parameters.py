"""The tensors of a checkpoint by the names transformers gives them, and what reads them where they are needed."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from neurothek.catalog.problems import Conflict, NeurothekError, Unsupported
from neurothek.ingest.models.errors import first_names
from neurothek.ingest.models.families.family import Family
from neurothek.ingest.models.families.skeletons import Skeleton, skeleton
from neurothek.ingest.models.weights import Checkpoint, Weights

_WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_forward_module.", "base_model.")
"""What those that train in parallel, compile or adapt a model put before the names of all its tensors."""

FORMATS = ("F64", "F32", "F16", "BF16")


class Parameters:
    """The weights of one model, matched with what its config.json describes.

    Attributes:
        is_tied: whether the unembedding is the token embedding.
    """

    def __init__(self, checkpoint: Checkpoint, skeleton: Skeleton) -> None:
        self._checkpoint = checkpoint
        self._skeleton = skeleton
        self._weights = Weights(checkpoint)
        expected = skeleton.model.state_dict().items()
        self._shapes = {name: tuple(tensor.shape) for name, tensor in expected if name not in skeleton.copies}
        self._stored: dict[str, str] = {}
        self._match_names()
        self._match_layouts()
        self.is_tied = self._tie()

    def read(self, name: str) -> Tensor:
        """The tensor that transformers calls `name`, as stored, memory-mapped on the CPU."""
        return self._weights.read(self._stored[name])

    def count(self, names: Sequence[str] | None = None) -> int:
        """How many numbers the named tensors hold (all of them by default); a tied unembedding holds none."""
        chosen = self._shapes if names is None else names
        return sum(math.prod(self._shapes[name]) for name in chosen if not (self.is_tied and name == self._head))

    @property
    def _head(self) -> str:
        return self._skeleton.family.head + ".weight"

    @property
    def _tokens(self) -> str:
        return self._skeleton.family.tokens + ".weight"

    def _match_names(self) -> None:
        """Find each expected tensor on disk, with or without the prefix of the whole model."""
        family, unexpected = self._skeleton.family, []
        for stored in sorted(self._weights.names()):
            name = self._named(stored)
            if name in self._shapes and name not in self._stored:
                self._stored[name] = stored
            elif stored not in self._skeleton.copies and not family.ignorable.fullmatch(name):
                unexpected.append(stored)
        missing = sorted(self._shapes.keys() - self._stored.keys() - self._replaceable())
        wrapped = [name for name in unexpected if name.startswith(_WRAPPERS)]
        if wrapped:
            raise _other_weights(self._checkpoint.folder, "tensors bear the name of a wrapper around it", wrapped)
        if missing:
            raise _other_weights(self._checkpoint.folder, "tensors are missing", missing, fields=self._misleading())
        if unexpected:
            raise _other_weights(
                self._checkpoint.folder, "tensors have no place in it", unexpected, fields=self._misleading()
            )

    def _misleading(self) -> list[str]:
        """What config.json says, of fields of yes or no, of which the contrary agrees with the names on disk."""
        family, fields = self._skeleton.family, []
        stored = {self._named(name) for name in self._weights.names()}
        stored = {name for name in stored if not family.ignorable.fullmatch(name)}
        whole = skeleton(self._checkpoint, by_library=True)
        for name, value in whole.config.to_dict().items():
            if not isinstance(value, bool):
                continue
            contrary = replace(self._checkpoint, config={**self._checkpoint.config, name: not value})
            with suppress(NeurothekError):
                built = skeleton(contrary, by_library=True)
                tied = {self._head} if built.config.tie_word_embeddings else set()
                if built.model.state_dict().keys() - built.copies.keys() - (tied - stored) == stored:
                    fields.append(f"{name} {str(value).lower()}")
        return fields

    def _named(self, stored: str) -> str:
        """What transformers calls a tensor."""
        name = self._skeleton.family.named(stored)
        # Where both are there, the original comes first by name.
        return self._skeleton.copies.get(name, name)

    def _replaceable(self) -> set[str]:
        """The one of two tied tensors that need not be there because the other is."""
        if not self._skeleton.config.tie_word_embeddings:
            return set()
        return {self._head} if self._tokens in self._stored else {self._tokens} if self._head in self._stored else set()

    def _match_layouts(self) -> None:
        wrong, quantized = [], []
        for name, stored in self._stored.items():
            shape, number_format = self._weights.layout(stored)
            if shape != self._shapes[name]:
                wrong.append(f"{stored} is {_written(shape)} instead of {_written(self._shapes[name])}")
            if number_format not in FORMATS:
                quantized.append(f"{stored} is {number_format}")
        if wrong:
            raise _other_weights(self._checkpoint.folder, "tensors have another shape", wrong)
        if quantized:
            examples = first_names(quantized)
            raise Unsupported(
                f"the weights in {self._checkpoint.folder} are in an unsupported number format ({examples})",
                f"give the model before quantization, in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
                what="number format",
                name=quantized[0].rpartition(" ")[2],
            )

    def _tie(self) -> bool:
        """Whether the two embeddings are one; two stored ones that differ are two, whatever config.json says."""
        if not self._skeleton.config.tie_word_embeddings:
            return False
        for absent, present in ((self._head, self._tokens), (self._tokens, self._head)):
            if absent not in self._stored:
                self._stored[absent] = self._stored[present]
                return True
        return torch.equal(self.read(self._head), self.read(self._tokens))


def _written(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a single number"


def _other_weights(folder: Path, problem: str, examples: Sequence[str], *, fields: Sequence[str] = ()) -> Conflict:
    """Weights that are not those config.json describes."""
    statement = f", which says {' and '.join(fields)}" if fields else ""
    difference = f"{len(examples)} {problem} ({first_names(examples)})"
    return Conflict(
        f"the weights in {folder} contradict its config.json{statement}: {difference}",
        "give the folder of one unmodified model",
        what="weights",
        name=folder,
    )


@dataclass(eq=False)
class Loader:
    """Reads the tensors of one model."""

    built: Skeleton  # its modules, without weights until they are filled
    parameters: Parameters  # its tensors on disk
    device: torch.device  # where they are to lie
    dtype: torch.dtype  # the number format of the run
    is_resident: bool  # whether what was read may stay

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
