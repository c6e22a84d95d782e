"""The public data of OpenAI's neuron explainer: a file per neuron, `LAYER/NEURON.json`, below each of three folders.

Layout and fields as in the README and the dataclasses of openai/automated-interpretability: `explanations`, of
`NeuronSimulationResults`; `collated-activations`, of `NeuronRecord`; `related-tokens/weight-based`, of
`WeightBasedSummaryOfNeuron`. Each may be missing; nothing in them names the model.
"""

import re
from collections.abc import Iterator

from neurothek.catalog.exchange.foreign.forms import About, ForeignExplanation, ForeignNeuron, Form
from neurothek.catalog.exchange.foreign.stranger import MOST_LONG, Record, Strange
from neurothek.catalog.tables.foreign import MOST_EXPLANATIONS

_EXPLANATIONS = ("explanations",)
_ACTIVATIONS = ("collated-activations",)
_TOKENS = ("related-tokens", "weight-based")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_SCORE = "ev_correlation_score"
_MOST_RECORDS = 1_000
_METHOD = (
    "Explanations by a language model, scored by how far activations that another one simulates from them correlate"
    " with the true ones; tokens by c_proj times the gain of the last norm times the embedding; the largest activation"
    " of the published excerpts. How often a neuron is active is not among the data."
)


def _about(folder: Strange) -> About:
    """What is said of the data where they are published."""
    names = folder.names(folders=True)
    if not {_EXPLANATIONS[0], _ACTIVATIONS[0], _TOKENS[0]} & set(names):
        raise folder.invalid("", f"it has none of the folders {_EXPLANATIONS[0]}, {_ACTIVATIONS[0]} and {_TOKENS[0]}")
    return About(method=_METHOD)


def _records(folder: Strange, about: About) -> Iterator[ForeignNeuron | ForeignExplanation]:
    """Every neuron of which there is a file, layer by layer, with its explanations."""
    trees = [tree for tree in (_EXPLANATIONS, _ACTIVATIONS, _TOKENS) if folder.has(*tree)]
    layers = {name for tree in trees for name in folder.names(*tree, folders=True) if _NUMBER.fullmatch(name)}
    for layer in sorted(layers, key=int):
        files = {tree: _files(folder, tree, layer) if folder.has(*tree, layer) else {} for tree in trees}
        for neuron in sorted({one for numbered in files.values() for one in numbered}):
            yield from _neuron(
                folder, int(layer), neuron, {tree: numbered.get(neuron) for tree, numbered in files.items()}
            )


def _files(folder: Strange, tree: tuple[str, ...], layer: str) -> dict[int, tuple[str, ...]]:
    """The file of each neuron of a layer: 5.json, 05.json and 5.jsonl are of the same."""
    files: dict[int, tuple[str, ...]] = {}
    for name in folder.names(*tree, layer, folders=False):
        stem, _, kind = name.partition(".")
        if _NUMBER.fullmatch(stem) and kind in ("json", "jsonl"):
            neuron, parts = int(stem), (*tree, layer, name)
            if neuron in files:
                raise folder.invalid("/".join(parts), f"repeats the neuron L{int(layer)}N{neuron}")
            files[neuron] = parts
    return files


def _neuron(
    folder: Strange, layer: int, neuron: int, files: dict[tuple[str, ...], tuple[str, ...] | None]
) -> Iterator[ForeignNeuron | ForeignExplanation]:
    contents: dict[tuple[str, ...], tuple[str, Record]] = {
        tree: ("/".join(parts), folder.record(*parts)) for tree, parts in files.items() if parts is not None
    }
    for tree in (_EXPLANATIONS, _ACTIVATIONS):
        if tree in contents:
            _require_own(folder, *contents[tree], layer, neuron)
    where, tokens = contents.get(_TOKENS, ("", {}))
    promoted, suppressed = (
        folder.tokens(where, folder.part(where, tokens, name), "tokens") if tokens else ()
        for name in ("output_positive", "output_negative")
    )
    place = next(iter(contents.values()))[0]
    largest = _largest(folder, *contents[_ACTIVATIONS]) if _ACTIVATIONS in contents else None
    yield ForeignNeuron(place, layer, neuron, None, largest, promoted, suppressed)
    if _EXPLANATIONS in contents:
        yield from _explanations(folder, *contents[_EXPLANATIONS], layer, neuron)


def _require_own(folder: Strange, where: str, record: Record, layer: int, neuron: int) -> None:
    number = folder.part(where, record, "neuron_id")
    if (folder.index(where, number, "layer_index"), folder.index(where, number, "neuron_index")) != (layer, neuron):
        raise folder.invalid(where, "is of another neuron than its name says")


def _largest(folder: Strange, where: str, record: Record) -> float | None:
    """The largest activation of the excerpts in which it is largest."""
    most = []
    for excerpt in folder.parts(where, record, "most_positive_activation_records", _MOST_RECORDS):
        values = excerpt.get("activations")
        if not isinstance(values, list):
            raise folder.invalid(where, "has no list activations in an excerpt")
        numbers = (folder.number(where, {"activations": value}, "activations") for value in values)
        most += [max((one for one in numbers if one is not None), default=None)]
    return max((one for one in most if one is not None), default=None)


def _explanations(folder: Strange, where: str, record: Record, layer: int, neuron: int) -> Iterator[ForeignExplanation]:
    for scored in folder.parts(where, record, "scored_explanations", MOST_EXPLANATIONS):
        text = folder.text(where, scored, "explanation", MOST_LONG)
        if text is not None:
            score = folder.number(where, folder.part(where, scored, "scored_simulation"), _SCORE)
            name = None if score is None else _SCORE
            yield ForeignExplanation(where, layer, neuron, text, score=score, score_name=name)


OPENAI = Form(_about, _records)
