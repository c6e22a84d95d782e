"""A model without its weights: what config.json describes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from neurothek.ingest.models.families.family import Config, Family
from neurothek.ingest.models.families.supported import family_of
from neurothek.ingest.models.families.torch_modules import plain_model
from neurothek.ingest.models.weights import Checkpoint


@dataclass(frozen=True)
class Skeleton:
    """A model without weights: modules on the meta device, where tensors have only shapes, by transformers' names."""

    family: Family
    config: Config
    model: nn.Module
    is_plain: (
        bool  # whether its modules are those of `torch_modules`, whose sizes fit each other, and not the library's
    )

    @property
    def copies(self) -> Mapping[str, str]:
        """Tensors that only repeat another one -> that one; where nothing is tied all are their own."""
        return self.family.copies if self.config.tie_word_embeddings else {}

    @property
    def written_scale(self) -> float:
        """What all that is added to the stream is multiplied by."""
        return _number(self.config, self.family.written_scale)

    @property
    def logit_divisor(self) -> float:
        """What the head divides its logits by."""
        return _number(self.config, self.family.logit_divisor)

    def angles(self, layer: int) -> str | None:
        """The kind of angles by which a layer's attention rotates; None where all rotate alike."""
        return str(self.config.layer_types[layer]) if self.family.has_kinds_of_angles else None

    def module(self, path: str) -> nn.Module | None:
        """The module at `path`, None where this model has none there."""
        value: Any = self.model
        for part in path.split("."):
            value = getattr(value, part, None)
        return value if isinstance(value, nn.Module) else None


def _number(config: Config, field: str | None) -> float:
    return 1.0 if field is None else float(getattr(config, field))


def skeleton(checkpoint: Checkpoint, *, by_library: bool = False) -> Skeleton:
    """The model that config.json describes, without weights; takes milliseconds at any size.

    Args:
        checkpoint: the model.
        by_library: take transformers' modules even where there are plain ones that compute the same.
    """
    family = family_of(checkpoint.config, where=str(checkpoint.folder))
    # The number format that config.json names plays no part: the weights say theirs, the caller says the run's.
    fields = {
        name: value for name, value in checkpoint.config.items() if name not in ("dtype", "torch_dtype", "model_type")
    }
    plain = None if by_library else plain_model(family.architecture, fields)
    if plain is not None:
        return Skeleton(family, *plain, is_plain=True)
    # The library takes longer to import than a prompt takes to run.
    from neurothek.ingest.models.families.library import library_model  # noqa: PLC0415  (see above)

    return Skeleton(family, *library_model(checkpoint, family, fields), is_plain=False)
