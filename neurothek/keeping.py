"""What is written, drawn, taken out and brought in from Python."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.catalog.arguments import require
from neurothek.catalog.files import expanded
from neurothek.catalog.progress import Progress
from neurothek.opened import Opened, checked
from neurothek.queries.papers.paper_names import PaperName

if TYPE_CHECKING:
    from neurothek.catalog.exchange.manifest import Manifest
    from neurothek.catalog.exchange.merging import Merged
    from neurothek.catalog.upkeep.changes import Label
    from neurothek.dashboards.papers.figure import Figure
    from neurothek.queries.annotate.annotations import Saved
    from neurothek.queries.compare.comparison import Comparison
    from neurothek.queries.neuron.page import NeuronPage


class Keeping(Opened):
    """What changes or copies rows without a model, and what is drawn of them."""

    @checked
    def draw_neuron(self, page: "NeuronPage", path: str | Path) -> Path:
        """Write a neuron's figure as PNG or SVG, as the file's name says.

        Args:
            page: what `neuron` answered.
            path: the file.

        Returns:
            The path of the file.

        Raises:
            NotMeasured: its positions were not measured.
            Invalid: the file is called neither .png nor .svg.
            Unreadable: nothing can be written there.

        Example:
            >>> warehouse.draw_neuron(warehouse.neuron("mini-opt-2m/L2N17"), "neuron.svg").name
            'neuron.svg'
        """
        from neurothek.dashboards.charts.pictures import kind_of, save
        from neurothek.dashboards.papers.neuron import neuron_figure
        from neurothek.queries.names.unmeasured import corpus_words
        from neurothek.queries.neuron.page import NeuronPage

        require(NeuronPage, page=page)
        kind_of(expanded(path))
        with self.reader() as connection:
            on = corpus_words(connection, [page.facts["model"]], page.corpus)
        return save(neuron_figure(page, on=on), expanded(path))

    @checked
    def draw_comparison(self, comparison: "Comparison", folder: str | Path) -> "list[Figure]":
        """Write the figures of Voita et al. and of Din et al. 2023 that the models allow, each as PNG and SVG.

        Args:
            comparison: what `compare` answered.
            folder: where to write them; it is made if it is not there.

        Returns:
            All figures in order; those that cannot be drawn say why.

        Raises:
            NotMeasured: nothing can be drawn.
            Unreadable: nothing can be written there.

        Example:
            >>> figures = warehouse.draw_comparison(warehouse.compare(), "figures")
            >>> [figure.name for figure in figures if not figure.why_not][:1]
            ['figure-01-dead-neurons']
        """
        from neurothek.dashboards.papers.folders import write_figures
        from neurothek.dashboards.papers.reproduced import figures_of_comparison
        from neurothek.queries.compare.comparison import Comparison

        require(Comparison, comparison=comparison)
        with self.reader() as connection:
            figures = figures_of_comparison(connection, comparison)
        write_figures(figures, expanded(folder))
        return figures

    @checked
    def annotate(self, annotations: Iterable[Mapping[str, Any]], *, annotator: str | None = None) -> "Saved":
        """Publish what people see in vectors, all of them or none.

        Args:
            annotations: dicts with the fields of a line that `neurothek annotate` reads.
            annotator: who judged, where a dict does not say.

        Returns:
            How many rows and vectors were saved, and how many earlier ones they replaced.

        Raises:
            NeurothekError: one of them cannot be saved, or the warehouse cannot be written; nothing is.

        Example:
            >>> saved = warehouse.annotate([{"address": "mini-opt-2m/L2N17", "concept": None}], annotator="anna")
            >>> saved.n_vectors
            1
        """
        from neurothek.queries.annotate.annotations import annotate as publish

        return publish(self.warehouse, annotations, annotator=annotator)

    @checked
    def annotate_by_rules(self, *models: str, seed: int = 0) -> "Saved":
        """Judge the samples of some models by rules, as the annotator `rules`, whose earlier annotations give way.

        Args:
            models: their names; all that have controls where none is named.
            seed: of the samples.

        Returns:
            How many rows and vectors were saved, and how many earlier ones they replaced.

        Raises:
            NeurothekError: there is no such model, it has no controls, or the warehouse cannot be written.

        Example:
            >>> (outcome,) = warehouse.ingest("mini-opt-2m", job=["projections", "controls"], tokens=2000)
            >>> warehouse.annotate_by_rules("mini-opt-2m").n_vectors
            2080
        """
        from neurothek.queries.annotate.by_rules import annotate_by_rules

        return annotate_by_rules(self.warehouse, models, seed=seed)

    @checked
    def reproduce(
        self,
        paper: PaperName,
        *models: str,
        to: str | Path,
        family: str | None = None,
        corpus: str | None = None,
    ) -> "list[Path]":
        """Write a paper's figures and tables for other models, and a page that shows them with the paper's claims.

        What was not measured is said on the page; `lacking` tells it before.

        Args:
            paper: "voita", "geva" or "din".
            models: names of models, variants included; none: all of the family.
            to: folder to write to; it is made if it is not there.
            family: the family; None: the only one in the warehouse.
            corpus: name of the corpus that it is about; None: each model's shown one.

        Returns:
            The files: pictures as PNG and SVG, tables as CSV and Markdown with their SQL, and the page, which is last.

        Raises:
            NotFound: there are no such models.
            Invalid: they are of several families.
            Unreadable: nothing can be written there.

        Example:
            >>> warehouse.reproduce("voita", to="voita")[-1].name
            'index.html'
        """
        from neurothek.dashboards.papers.folders import write_paper
        from neurothek.dashboards.papers.reproduced import collect

        with self.reader() as connection:
            found = collect(connection, paper, models, family=family, corpus=corpus)
        return write_paper(found, expanded(to))

    @checked
    def export(
        self, folder: str | Path, *, dialects: str | Sequence[str] = (), progress: Progress | None = None
    ) -> "Manifest":
        """Write the store as Parquet to a new folder, and the views as SQL for Spark and other dialects of sqlglot's.

        Args:
            folder: where to write; it must not hold anything.
            dialects: names of sqlglot's dialects besides Spark's, such as "trino".
            progress: told how far it is.

        Returns:
            What was written: every file with its rows and fingerprint.

        Raises:
            NeurothekError: the folder holds something, or there is no such dialect or warehouse.

        Example:
            >>> manifest = warehouse.export("catalog")
        """
        from neurothek.catalog.exchange.exports import export as write
        from neurothek.queries.views.dialects import exported_views, require_dialect

        names = (dialects,) if isinstance(dialects, str) else dialects
        texts = exported_views([require_dialect(name) for name in names])
        return write(self.warehouse, expanded(folder), texts=texts, progress=progress)

    @checked
    def import_(self, folder: str | Path, *, progress: Progress | None = None) -> "Manifest":
        """Read an exported folder into this warehouse, which is new or empty; one that holds its rows stays as it is.

        Args:
            folder: what `export` wrote.
            progress: told how far it is.

        Returns:
            What was read.

        Raises:
            Unreadable: the folder is no export or is damaged, or the warehouse takes no writing.
            Conflict: the warehouse has other rows.

        Example:
            >>> copy = neurothek.open("copy.duckdb")
            >>> copy.import_("catalog") == manifest
            True
        """
        from neurothek.catalog.exchange.imports import import_folder

        return import_folder(self.warehouse, expanded(folder), progress=progress)

    @checked
    def label(self, model: str, *, family: str | None = None, variant: str | None = None) -> "Label":
        """Say which family a model is of, which variant of its size, or both.

        Args:
            model: name of the model.
            family: name of the family; None: as it is.
            variant: "step 1000", "seed 2", "no-position", "post-norm", or "plain" for a plain size; None: as it is.

        Returns:
            What the model is now.

        Raises:
            NotFound: there is no such model.
            Invalid: it cannot be labelled so.

        Example:
            >>> warehouse.label("mini-opt-2m", family="mini-opt")
            Label(family='mini-opt', variant=None)
        """
        from neurothek.catalog.upkeep.changes import label as write

        return write(self.warehouse, model, family=family, variant=variant)

    @checked
    def merge(self, other: str | Path, *, progress: Progress | None = None) -> "Merged":
        """Add the models, texts, runs and annotations of another warehouse; what both hold is taken once.

        Args:
            other: path of the other warehouse.
            progress: told how far it is.

        Returns:
            What was added.

        Raises:
            Conflict: the two contradict each other; nothing is written.
            Unavailable: there is no other warehouse.
            Unreadable: one of the files cannot be used; nothing is written.

        Example:
            >>> warehouse.merge("copy.duckdb").models
            ()
        """
        from neurothek.catalog.exchange.merging import merge as join

        return join(self.warehouse, expanded(other), progress=progress)
