"""What is measured from Python, and measured again."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from catalog.arguments import BadArgument
from neurothek.opened import Opened, checked

if TYPE_CHECKING:
    from catalog.upkeep.verification import Agreement
    from ingest.asking import Wishes
    from ingest.pipeline.ingest_all import Outcome
    from ingest.pipeline.verify import Skipped


class Measuring(Opened):
    """Jobs on models, and whether a warehouse says what they find."""

    @checked
    def ingest(self, *models: str, progress: bool = False, **wishes: Unpack["Wishes"]) -> "list[Outcome]":
        """Measure models and publish what was measured, as the command `ingest` does.

        The keywords are its options: `job`, `corpus`, `tokens`, `device`, `memory` and so on, and `force`. Where an
        option is repeated on the command line, give a list.

        Args:
            models: folders, hub ids, shipped models or models of the warehouse, each with `NAME=` before it or without.
            progress: show bars on stderr.
            wishes: what to measure, and how.

        Returns:
            One outcome a model, with its `report`, or with a `problem` in a sentence; one that fails does not stop the
            others.

        Raises:
            NeurothekError: the request makes no sense, whatever the model, or the warehouse takes no writing.

        Example:
            >>> (outcome,) = warehouse.ingest("mini-opt-0.7m", job="projections")
            >>> outcome.report.up_to_date
            ('projections',)
        """
        from catalog.terminal.console import progress_bars
        from ingest.asking import requested
        from ingest.pipeline.ingest_all import ingest_all

        request = requested(**wishes)
        if not models:
            raise BadArgument("models", models, "name at least one model, such as mini-opt-2m")
        with progress_bars(shown=progress) as bars:
            return list(ingest_all(self.warehouse, request, models, progress=bars))

    @checked
    def verify(
        self, model: str, *, sample: int = 1, weights: str | Path | None = None, progress: bool = False
    ) -> "list[Agreement | Skipped]":
        """Measure some layers of a model again from its weights, and say how the warehouse's rows agree.

        Args:
            model: name of the model.
            sample: how many layers of each job.
            weights: hub id or folder of its weights, if they are no longer where they were.
            progress: show bars on stderr.

        Raises:
            NeurothekError: there is no such model, or its weights are not there or are others.

        Example:
            >>> agreements = warehouse.verify("mini-opt-0.7m")
            >>> {agreement.n_different for agreement in agreements}
            {0}
        """
        from catalog.terminal.console import progress_bars

        if sample < 1:
            raise BadArgument("sample", sample, "give 1 or more")
        from catalog.upkeep.verification import agreement, combined
        from ingest.planning.first_look import measured_as, require_weights

        require_weights(measured_as(self.warehouse, model), weights=weights)
        from ingest.pipeline.verify import Skipped, remeasure

        folder = None if weights is None else str(weights)
        agreements, skipped = [], []
        with progress_bars(shown=progress) as bars:
            for part in remeasure(self.warehouse, model, weights=folder, n_shards=sample, progress=bars):
                if isinstance(part, Skipped):
                    skipped.append(part)
                    continue
                with self.reader() as connection:
                    agreements.append(agreement(connection, part))
        return [*combined(agreements), *skipped]
