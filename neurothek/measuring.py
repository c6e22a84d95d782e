"""What is measured from Python, and measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neurothek.opened import Opened

if TYPE_CHECKING:
    from catalog.upkeep.verification import Agreement
    from ingest.pipeline.verify import Skipped


class Measuring(Opened):
    """Jobs on models, and whether a warehouse says what they find."""

    def ingest(self, *models: str, progress: bool = False, **request: Any) -> list[Any]:
        """Measure models and publish what was measured; conditions are the fields of `ingest.request.IngestRequest`.

        Returns:
            One `ingest.pipeline.ingest_all.Outcome` a model.
        """
        from catalog.terminal.console import progress_bars
        from ingest.pipeline.ingest_all import ingest_all
        from ingest.request import IngestRequest

        with progress_bars(shown=progress) as bars:
            return list(ingest_all(self.warehouse, IngestRequest(**request), models, progress=bars))

    def verify(
        self, model: str, *, sample: int = 1, weights: str | None = None, progress: bool = False
    ) -> list[Agreement | Skipped]:
        """Measure some layers of a model again from its weights, and say how the warehouse's rows agree.

        Args:
            model: name of the model.
            sample: how many layers of each job.
            weights: hub id or folder of its weights, if they are no longer where they were.
            progress: show bars on stderr.

        Raises:
            NeurothekError: there is no such model, or its weights are not there or are others.
        """
        from catalog.terminal.console import progress_bars
        from catalog.upkeep.verification import agreement, combined
        from ingest.planning.first_look import measured_as, require_weights

        require_weights(measured_as(self.warehouse, model), weights=weights)
        from ingest.pipeline.verify import Skipped, remeasure

        agreements, skipped = [], []
        with progress_bars(shown=progress) as bars:
            for part in remeasure(self.warehouse, model, weights=weights, n_shards=sample, progress=bars):
                if isinstance(part, Skipped):
                    skipped.append(part)
                    continue
                with self.reader() as connection:
                    agreements.append(agreement(connection, part))
        return [*combined(agreements), *skipped]
