"""Figures, annotations, labels, checks, exports, imports and merges: what changes, copies or draws rows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.catalog.arguments import expanded, require, validated
from neurothek.catalog.problems import Invalid
from neurothek.catalog.progress import Progress
from neurothek.queries.papers.paper_names import PaperName

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.catalog.exchange.foreign.importing import ImportedCatalog
    from neurothek.catalog.exchange.manifest import Manifest
    from neurothek.catalog.exchange.merging import Merged
    from neurothek.catalog.tables.foreign import ForeignKind
    from neurothek.catalog.upkeep.changes import Label
    from neurothek.catalog.upkeep.checks import CheckReport
    from neurothek.dashboards.papers.figure import Figure
    from neurothek.queries.annotate.annotations import Saved
    from neurothek.queries.compare.comparison import Comparison
    from neurothek.queries.neuron.page import NeuronPage


@validated
def draw_neuron(base: "Neurothek", page: "NeuronPage", path: str | Path) -> Path:
    """Write a neuron's figure as PNG or SVG, according to the file's name.

    Args:
        page: an answer of `neuron`.
        path: the file.

    Returns:
        The path of the file.

    Raises:
        NotMeasured: its positions were not measured.
        Invalid: the file's name ends in neither .png nor .svg.
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
    with base.reader() as connection:
        on = corpus_words(connection, [page.facts["model"]], page.corpus)
    return save(neuron_figure(page, on=on), expanded(path))


@validated
def draw_comparison(base: "Neurothek", comparison: "Comparison", folder: str | Path) -> "list[Figure]":
    """Write the figures of Voita et al. 2023 and Din et al. 2023 for these models, each as PNG and SVG.

    Args:
        comparison: an answer of `compare`.
        folder: where to write them; created if missing.

    Returns:
        All figures in order; those that cannot be drawn have the reason.

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
    with base.reader() as connection:
        figures = figures_of_comparison(connection, comparison)
    write_figures(figures, expanded(folder))
    return figures


@validated
def annotate(base: "Neurothek", annotations: Iterable[Mapping[str, Any]], *, annotator: str | None = None) -> "Saved":
    """Publish annotations of vectors by people, all of them or none.

    Args:
        annotations: dicts with the fields of a line that `neurothek annotate` reads.
        annotator: name of the annotator of dicts that give none.

    Returns:
        The numbers of rows and vectors saved, and of earlier rows replaced.

    Raises:
        NeurothekError: one of them cannot be saved, or the warehouse cannot be written; nothing was saved.

    Example:
        >>> saved = warehouse.annotate([{"address": "mini-opt-2m/L2N17", "concept": None}], annotator="anna")
        >>> saved.n_vectors
        1
    """
    from neurothek.queries.annotate.annotations import annotate as publish

    return publish(base.warehouse, annotations, annotator=annotator)


@validated
def annotate_by_rules(base: "Neurothek", *models: str, seed: int = 0) -> "Saved":
    """Judge the samples of models by rules, as the annotator `rules`, and replace its earlier annotations.

    Args:
        models: their names; none: all that have controls.
        seed: seed of the samples.

    Returns:
        The numbers of rows and vectors saved, and of earlier rows replaced.

    Raises:
        NeurothekError: there is no such model, it has no controls, or the warehouse cannot be written.

    Example:
        >>> (outcome,) = warehouse.ingest("mini-opt-2m", job=["projections", "controls"], tokens=2000)
        >>> warehouse.annotate_by_rules("mini-opt-2m").n_vectors
        2080
    """
    from neurothek.queries.annotate.by_rules import annotate_by_rules

    return annotate_by_rules(base.warehouse, models, seed=seed)


@validated
def reproduce(
    base: "Neurothek",
    paper: PaperName,
    *models: str,
    to: str | Path,
    family: str | None = None,
    corpus: str | None = None,
) -> "list[Path]":
    """Write a paper's figures and tables for other models, and a page that shows them with the paper's claims.

    The page says what was not measured; `lacking` lists it beforehand.

    Args:
        paper: "voita", "geva" or "din".
        models: names of models, variants included; none: all of the family.
        to: folder to write to; created if missing.
        family: the family; None: the only one in the warehouse.
        corpus: name of the corpus to use; None: each model's shown one.

    Returns:
        The files: pictures as PNG and SVG, tables as CSV and Markdown with their SQL, and the page, which is last.

    Raises:
        NotFound: there are no such models.
        Invalid: they belong to several families.
        Unreadable: nothing can be written there.

    Example:
        >>> warehouse.reproduce("voita", to="voita")[-1].name
        'index.html'
    """
    from neurothek.dashboards.papers.folders import write_paper
    from neurothek.dashboards.papers.reproduced import collect

    with base.reader() as connection:
        collection = collect(connection, paper, models, family=family, corpus=corpus)
    return write_paper(collection, expanded(to))


@validated
def export(
    base: "Neurothek", folder: str | Path, *, dialects: str | Sequence[str] = (), progress: Progress | None = None
) -> "Manifest":
    """Write the store as Parquet to a new folder, and the views as SQL for Spark and other dialects of sqlglot.

    Args:
        folder: where to write; it must be empty or new.
        dialects: names of sqlglot dialects to write besides Spark's, such as "trino".
        progress: receives progress reports.

    Returns:
        The manifest of the export: every file with its rows and fingerprint.

    Raises:
        NeurothekError: the folder is not empty, or there is no such dialect or warehouse.

    Example:
        >>> manifest = warehouse.export("catalog")
    """
    from neurothek.catalog.exchange.exports import export as write
    from neurothek.queries.views.dialects import exported_views, require_dialect

    names = (dialects,) if isinstance(dialects, str) else dialects
    texts = exported_views([require_dialect(name) for name in names])
    return write(base.warehouse, expanded(folder), texts=texts, progress=progress)


@validated
def import_(base: "Neurothek", folder: str | Path, *, progress: Progress | None = None) -> "Manifest":
    """Import an exported folder into this warehouse, which is new or empty; does nothing if the rows are there.

    Args:
        folder: a folder that `export` wrote.
        progress: receives progress reports.

    Returns:
        The manifest of the export.

    Raises:
        Unreadable: the folder is not an export or is damaged, or the warehouse cannot be written.
        Conflict: the warehouse has other rows.

    Example:
        >>> copy = neurothek.open("copy.duckdb")
        >>> copy.import_("catalog") == manifest
        True
    """
    from neurothek.catalog.exchange.imports import import_folder

    return import_folder(base.warehouse, expanded(folder), progress=progress)


@validated
def import_foreign(
    base: "Neurothek",
    folder: str | Path,
    kind: "ForeignKind",
    *,
    model: str | None = None,
    progress: Progress | None = None,
) -> "ImportedCatalog":
    """Import somebody else's catalog of a model's neurons, as what they say, beside what was measured here.

    Nothing of it is run, and nothing is written unless all of it is what such a catalog has. The views
    `foreign_catalogs`, `foreign_neurons`, `foreign_explanations` and `foreign_agreement` tell of it.

    Args:
        folder: a folder of this machine.
        kind: whose form it has: "neuronpedia", an export; "gluscope", a dataset of GLUScope; "openai", the public data
            of the neuron explainer.
        model: name of the model here; None: the one that is called as they call it.
        progress: receives progress reports.

    Returns:
        What it is called, and how many neurons, explanations and tokens it has; a folder that was imported before is
        not imported again.

    Raises:
        Invalid: there is no such kind.
        NotFound: the warehouse has no such model, or the catalog's model is not told by its name.
        Unreadable: the folder is not of that form, or of another model.
        Unsupported: nothing reads catalogs of that kind.

    Example:
        >>> import json, pathlib
        >>> line = {"modelId": "mini-opt-2m", "layer": "2", "index": "17", "pos_str": [" school"], "frac_nonzero": 0.01}
        >>> features = pathlib.Path("v1/mini-opt-2m/2/features")
        >>> features.mkdir(parents=True)
        >>> (features / "batch-0.jsonl").write_text(json.dumps(line)) > 0
        True
        >>> warehouse.import_foreign("v1/mini-opt-2m", "neuronpedia").n_neurons
        1
        >>> warehouse.sql("select address, foreign_frequency from foreign_agreement").rows()
        [('mini-opt-2m/L2N17', 0.01)]
    """
    from neurothek.catalog.exchange.foreign.importing import import_catalog

    return import_catalog(base.warehouse, expanded(folder), kind, model=model, progress=progress)


@validated
def label(base: "Neurothek", model: str, *, family: str | None = None, variant: str | None = None) -> "Label":
    """Set the family of a model, the variant that distinguishes it from the plain model of its size, or both.

    Args:
        model: name of the model.
        family: name of the family; None: unchanged.
        variant: "step 1000", "seed 2", "Q4_1", "no-position", "post-norm", or "plain" for a plain size; None:
            unchanged.

    Returns:
        The family and variant of the model.

    Raises:
        NotFound: there is no such model.
        Invalid: the family or variant is invalid.

    Example:
        >>> warehouse.label("mini-opt-2m", family="mini-opt")
        Label(family='mini-opt', variant=None)
    """
    from neurothek.catalog.upkeep.changes import label as write

    return write(base.warehouse, model, family=family, variant=variant)


@validated
def merge(base: "Neurothek", other: str | Path, *, progress: Progress | None = None) -> "Merged":
    """Add the models, texts, runs and annotations of another warehouse, without duplicates.

    Args:
        other: path of the other warehouse.
        progress: receives progress reports.

    Returns:
        A summary of the rows added.

    Raises:
        Conflict: the two contradict each other; nothing is written.
        Unavailable: there is no other warehouse.
        Unreadable: one of the files cannot be used; nothing is written.

    Example:
        >>> warehouse.merge("copy.duckdb").models
        ()
    """
    from neurothek.catalog.exchange.merging import merge as join
    from neurothek.catalog.hub.addresses import Address, place_of

    place = place_of(other)
    if isinstance(place, Address):
        from neurothek.catalog.hub.catalog import only_read

        raise only_read(str(place))
    return join(base.warehouse, place, progress=progress)


@validated
def pin(base: "Neurothek", model: str, *, corpus: str | None = None, clusters: int | None = None) -> None:
    """Choose the corpus or the clustering that views show for a model.

    Args:
        model: name of the model.
        corpus: name of the corpus, or NAME@TOKENS where several have the name; None: unchanged.
        clusters: requested number of clusters of the clustering; None: unchanged.

    Raises:
        Invalid: neither is given.
        NotFound: there is no such model, or it was not measured on that corpus or in that clustering.

    Example:
        >>> warehouse.pin("mini-opt-2m", corpus="builtin")
    """
    from neurothek.catalog.upkeep.changes import pin as write

    if corpus is None and clusters is None:
        raise Invalid("nothing to pin", "give a corpus, a number of clusters or both", option="corpus", value=None)
    write(base.warehouse, model, corpus, clusters=clusters)


@validated
def rename(base: "Neurothek", model: str, name: str) -> None:
    """Give a model another name, which also changes the addresses of its neurons.

    Args:
        model: name of the model.
        name: its new name.

    Raises:
        NotFound: there is no such model.
        Invalid: the name holds other characters than letters, digits and . _ @ + -.
        Conflict: another model has the name.

    Example:
        >>> warehouse.rename("mini-opt-2m", "mini")
        >>> warehouse.rename("mini", "mini-opt-2m")
    """
    from neurothek.catalog.upkeep.changes import rename as write

    write(base.warehouse, model, name)


@validated
def remove(
    base: "Neurothek", model: str, *, job: str | None = None, corpus: str | None = None, catalog: str | None = None
) -> "Mapping[str, int]":
    """Delete a model with its annotations, or only its rows from one job, corpus or foreign catalog, without asking.

    Args:
        model: name of the model.
        job: the job whose rows go; None: those of all jobs.
        corpus: the corpus on which the rows were measured; None: those on all corpora.
        catalog: somebody else's catalog, which alone goes; None: whatever the others say.

    Returns:
        The number of rows deleted, by table.

    Raises:
        NotFound: there is no such model, job, corpus or catalog.
        Invalid: the job reads no text, so that it has no rows on a corpus, or a catalog is named beside them.

    Example:
        >>> warehouse.remove("mini-opt-0.7m", job="shortcuts")["shortcuts"] > 0
        True
    """
    from neurothek.catalog.upkeep.changes import remove as delete
    from neurothek.catalog.upkeep.changes import remove_foreign

    if catalog is not None:
        if job is not None or corpus is not None:
            raise Invalid("a foreign catalog is of no job and no corpus", "omit the others", option="catalog")
        return remove_foreign(base.warehouse, model, catalog)
    return delete(base.warehouse, model, job=job, corpus=corpus)


@validated
def check(base: "Neurothek", *, progress: bool = False) -> "CheckReport":
    """Read every block of the file, and check that keys are unique, rows have runs and tables agree.

    Args:
        progress: show bars on stderr.

    Returns:
        The number of checks, and those that failed.

    Raises:
        Damaged: the file is not what was written.
        Unavailable: there is no warehouse.

    Example:
        >>> warehouse.check().passed
        True
    """
    from neurothek.catalog.terminal.console import progress_bars
    from neurothek.catalog.upkeep.checks import check_report

    with progress_bars(visible=progress) as bars:
        return check_report(base.warehouse, progress=bars)
