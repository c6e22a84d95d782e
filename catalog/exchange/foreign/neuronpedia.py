"""Exports of Neuronpedia: a folder of a model with one folder per source, or the folder of one source.

Layout and fields as in its documentation (docs.neuronpedia.org/api-and-data/exports) and its exporter: `features/` and
`explanations*/` with `batch-N.jsonl` or `batch-N.jsonl.gz`, beside `model.jsonl`, `source.jsonl` and others. The source
of the neurons of a feed-forward layer is called by the layer's number alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from neurothek.catalog.exchange.foreign.forms import About, ForeignExplanation, ForeignNeuron, Form
from neurothek.catalog.exchange.foreign.stranger import MOST_LONG, Record, Strange, in_short

_LAYER = re.compile(r"\d{1,5}", re.ASCII)
_BATCH = re.compile(r"batch-\d{1,7}\.jsonl(\.gz)?", re.ASCII)
_EXPLANATIONS = re.compile(r"explanations(-.+)?")
_FEATURES = "features"
_SILENT = (
    "Frequencies and lists of tokens as Neuronpedia exports them; which positions were counted, and whether activations"
    " below 0 were, the export does not say. A frequency or largest activation of 0 is taken for missing: its database"
    " has 0 wherever none was given. Exported explanations have no scores."
)


@dataclass(frozen=True)
class _Source:
    """The folder of one source."""

    parts: tuple[str, ...]  # of its path below the root
    folders: tuple[str, ...]  # in it

    @property
    def explanations(self) -> tuple[str, ...]:
        """Its folders of explanations: one for each model that explained, perhaps."""
        return tuple(name for name in self.folders if _EXPLANATIONS.fullmatch(name))


def _about(folder: Strange) -> About:
    """What the first source says of the model and the release."""
    first = _sources(folder)[0]
    declared = {name: _declared(folder, first, name) for name in ("model", "source", "sourceset", "release")}
    model, source, release = declared["model"], declared["source"], declared["release"]
    prompts, length = (folder.count("source.jsonl", source, name) for name in ("num_prompts", "num_tokens_in_prompt"))
    dataset = folder.text("source.jsonl", source, "dataset")
    measured = f" Measured on {dataset}." if dataset else ""
    return About(
        their_model=folder.text("model.jsonl", model, "id") or _first_model(folder, first),
        version=folder.text("release.jsonl", release, "name")
        or folder.text("sourceset.jsonl", declared["sourceset"], "name"),
        method=_SILENT + measured,
        n_tokens=prompts * length if prompts and length else None,
        n_layers=folder.count("model.jsonl", model, "layers"),
        width=folder.count("model.jsonl", model, "neuronsPerLayer"),
    )


def _records(folder: Strange, about: About) -> Iterator[ForeignNeuron | ForeignExplanation]:
    """Every feature and every explanation of all sources, layer by layer."""
    for source in _sources(folder):
        for where, record in _lines(folder, source, [_FEATURES] if _FEATURES in source.folders else []):
            layer, neuron = _address(folder, where, record, about)
            frequency, largest = (folder.number(where, record, name) for name in ("frac_nonzero", "maxActApprox"))
            yield ForeignNeuron(
                where,
                layer,
                neuron,
                frequency=frequency or None,
                max_activation=largest or None,
                promoted=folder.tokens(where, record, "pos_str"),
                suppressed=folder.tokens(where, record, "neg_str"),
            )
        for where, record in _lines(folder, source, source.explanations):
            layer, neuron = _address(folder, where, record, about)
            text = folder.text(where, record, "description", MOST_LONG)
            if text is not None:
                explainer, method = (folder.text(where, record, name) for name in ("explanationModelName", "typeName"))
                yield ForeignExplanation(where, layer, neuron, text, explainer, method)


def _sources(folder: Strange) -> list[_Source]:
    """The folder itself, or those in it that are of neurons: others hold what sparse autoencoders found."""
    names = folder.names(folders=True)
    if _FEATURES in names or any(map(_EXPLANATIONS.fullmatch, names)):
        return [_Source((), tuple(names))]
    layers = [name for name in names if _LAYER.fullmatch(name)]
    sources = [_Source((name,), tuple(folder.names(name, folders=True))) for name in layers]
    sources = [one for one in sources if _FEATURES in one.folders or one.explanations]
    if not sources:
        others = f" (it has {', '.join(map(in_short, names[:3]))})" if names else ""
        raise folder.invalid(
            "", f"it has neither a folder {_FEATURES} nor folders of layers with one, such as 6/{_FEATURES}{others}"
        )
    return sources


def _lines(folder: Strange, source: _Source, within: list[str] | tuple[str, ...]) -> Iterator[tuple[str, Record]]:
    for name in within:
        batches = [one for one in folder.names(*source.parts, name, folders=False) if _BATCH.fullmatch(one)]
        packed = {one for one in batches if f"{one}.gz" in batches}
        for batch in batches:
            if batch not in packed:
                yield from folder.records(*source.parts, name, batch)


def _declared(folder: Strange, source: _Source, name: str) -> Record:
    file = f"{name}.jsonl"
    return folder.record(*source.parts, file) if folder.has(*source.parts, file) else {}


def _first_model(folder: Strange, source: _Source) -> str | None:
    """The model that the first line names, where no file of its own does."""
    within = [*([_FEATURES] if _FEATURES in source.folders else []), *source.explanations]
    plain = Strange(folder.root, folder.kind)
    for where, record in _lines(plain, source, within):
        return folder.text(where, record, "modelId")
    return None


def _address(folder: Strange, where: str, record: Record, about: About) -> tuple[int, int]:
    model = folder.text(where, record, "modelId")
    if model is not None and about.their_model is not None and model != about.their_model:
        raise folder.invalid(
            where, f"is of the model {in_short(model)}, and the catalog of {in_short(about.their_model)}"
        )
    source = record.get("layer")
    if isinstance(source, str) and not _LAYER.fullmatch(source):
        raise folder.invalid(
            where, f"is of the source {in_short(source)}: the neurons of a feed-forward layer have its number alone"
        )
    return folder.index(where, record, "layer"), folder.index(where, record, "index")


NEURONPEDIA = Form(_about, _records)
