"""What is written, taken out and brought in from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.opened import Opened

if TYPE_CHECKING:
    from catalog.exchange.manifest import Manifest
    from catalog.exchange.merging import Merged
    from catalog.progress import Progress
    from catalog.upkeep.changes import Label
    from queries.annotate.annotations import Saved


class Keeping(Opened):
    """What changes or copies rows without a model."""

    def annotate(self, annotations: Iterable[Mapping[str, Any]], *, annotator: str | None = None) -> Saved:
        """Publish what people see in vectors, all or nothing; each has fields as a line of `neurothek annotate` does.

        Raises:
            NeurothekError: one of them cannot be saved, or the warehouse cannot be written; nothing is.
        """
        from queries.annotate.annotations import annotate as publish

        return publish(self.warehouse, annotations, annotator=annotator)

    def export(self, folder: str | Path, *, dialects: Sequence[str] = (), progress: Progress | None = None) -> Manifest:
        """Write the store as Parquet to a new folder, and the views as SQL for Spark and other dialects of sqlglot's.

        Raises:
            NeurothekError: the folder holds something, or there is no such dialect or warehouse.
        """
        from catalog.exchange.exports import export as write
        from queries.views.dialects import exported_views, require_dialect

        texts = exported_views([require_dialect(name) for name in dialects])
        return write(self.warehouse, Path(folder), texts=texts, progress=progress)

    def import_(self, folder: str | Path, *, progress: Progress | None = None) -> Manifest:
        """Read an exported folder into this warehouse, which is new or empty; one that holds its rows stays as it is.

        Raises:
            NeurothekError: the folder is no export or is damaged, or the warehouse has other rows or takes no writing.
        """
        from catalog.exchange.imports import import_folder

        return import_folder(self.warehouse, Path(folder), progress=progress)

    def label(self, model: str, *, family: str | None = None, variant: str | None = None) -> Label:
        """Say which family a model is of, which variant of its size, or both; what is None stays as it is.

        A variant is `"step 1000"`, `"seed 2"`, `"no-position"`, or `"plain"` for a plain size.

        Returns:
            What the model is now.

        Raises:
            NeurothekError: there is no such model, or it cannot be labelled so.
        """
        from catalog.upkeep.changes import label as write

        return write(self.warehouse, model, family=family, variant=variant)

    def merge(self, other: str | Path, *, progress: Progress | None = None) -> Merged:
        """Add the models, texts, runs and annotations of the warehouse at a path; what both hold is taken once.

        Raises:
            NeurothekError: the two contradict each other, or one of the files cannot be used; nothing is written.
        """
        from catalog.exchange.merging import merge as join

        return join(self.warehouse, Path(other), progress=progress)
