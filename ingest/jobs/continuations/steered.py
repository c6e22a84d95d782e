"""One set of continuations as it is asked for: an intervention, prompts and scorers, and the run's parameters of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from neurothek.ingest.interventions.chosen import as_parameters, from_parameters
from neurothek.ingest.interventions.continued import Writing
from neurothek.ingest.request import Intervention, Steering


@dataclass(frozen=True)
class Steered:
    """Prompts that a model continues while its neurons are changed.

    Attributes:
        intervention: what is changed.
        steering: how prompts are continued and scored; without prompts where they are read back.
        n_prompts: how many prompts there are.
        prompts_sha256: fingerprint of the prompts.
        scorers: the name of each scorer, and what its numbers depend on.
        n_positions: ids of the longest prompt, its warning and its continuation included.
    """

    intervention: Intervention
    steering: Steering
    n_prompts: int
    prompts_sha256: str
    scorers: tuple[Mapping[str, Any], ...]
    n_positions: int

    @classmethod
    def of(
        cls,
        intervention: Intervention,
        steering: Steering,
        scorers: tuple[Mapping[str, Any], ...],
        *,
        n_positions: int,
    ) -> "Steered":
        """What is asked for, with prompts."""
        digest = sha256("\0".join(steering.prompts).encode()).hexdigest()
        return cls(intervention, steering, len(steering.prompts), digest, scorers, n_positions)

    @property
    def writing(self) -> Writing:
        """How tokens are chosen."""
        return Writing(self.steering.length, self.steering.temperature, self.steering.seed)

    def as_parameters(self, asked: str | None = None) -> dict[str, Any]:
        """What changes its numbers, as JSON values; `asked` stands for how its neurons were asked for."""
        steering = self.steering
        return {
            **as_parameters(self.intervention),
            **({} if asked is None else {"asked": asked}),
            "n_prompts": self.n_prompts,
            "n_positions": self.n_positions,
            "prompts_sha256": self.prompts_sha256,
            "length": steering.length,
            "temperature": steering.temperature,
            "seed": steering.seed,
            "unwanted": steering.unwanted,
            "banned": list(steering.banned),
            "described": steering.described,
            "scorers": [dict(one) for one in self.scorers],
        }

    @classmethod
    def from_parameters(cls, name: str, said: Mapping[str, Any]) -> "Steered":
        """What a run with such parameters was asked for; its prompts are among its rows."""
        scorers = tuple(said["scorers"])
        steering = Steering(
            prompts=(),
            length=int(said["length"]),
            temperature=float(said["temperature"]),
            seed=int(said["seed"]),
            scorers=tuple(str(one["name"]) for one in scorers),
            unwanted=str(said["unwanted"]),
            banned=tuple(said["banned"]),
            described=str(said["described"]),
        )
        found = from_parameters(name, said)
        return cls(
            found, steering, int(said["n_prompts"]), str(said["prompts_sha256"]), scorers, int(said["n_positions"])
        )
