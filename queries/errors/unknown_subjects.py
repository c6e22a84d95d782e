"""What a question is about that is not there: models, corpora, views, columns, neurons, matrices."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.spelling import named
from neurothek.catalog.suggestions import enumerated, hint, nearest


class NoModels(NeurothekError):
    """The warehouse holds nothing to ask about."""

    def __init__(self) -> None:
        super().__init__(f"the warehouse has no models yet; measure one with `{command_line('ingest', 'MODEL')}`")


class UnknownModel(NeurothekError):
    """No model has the name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no model {named(name)} in the warehouse; {hint(name, known)}")


class UnknownCorpus(NeurothekError):
    """The models asked about were not measured on the corpus."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"none of the selected models was measured on a corpus {named(name)}; {hint(name, known)}")


class NoShortcuts(NeurothekError):
    """A model's linear shortcuts were not measured, or not on the corpus."""

    def __init__(self, model: str, corpus: str | None, measured: Sequence[str], on: Sequence[str] = ()) -> None:
        where = f" on {corpus}" if corpus and measured else ""
        command = command_line("ingest", model, "--job", "shortcuts", *on)
        instead = (
            f"they were measured on {', '.join(measured)}: name that corpus, or measure" if measured else "measure"
        )
        super().__init__(f"no shortcut of {model} is kept{where}; {instead} them with `{command}`")


class StateUnknown(NeurothekError):
    """A state that a model does not have, or two in the wrong order."""

    def __init__(self, model: str, state: int, target: int, n_layers: int) -> None:
        super().__init__(
            f"there is no shortcut of {model} from state {state} to state {target}; states are 0 to {n_layers}, and a"
            " shortcut leads to a higher one"
        )


class MatrixNotKept(NeurothekError):
    """A matrix between two states of which only those to the last one are kept."""

    def __init__(self, model: str, state: int, target: int, again: str) -> None:
        super().__init__(
            f"the matrix of {model} from state {state} to state {target} was not kept, only those to the last state;"
            f" keep all with `{again} --keep all --force`"
        )


class UnknownView(NeurothekError):
    """No view has the name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no view {name}; {hint(name, known)}")


class UnknownDialect(NeurothekError):
    """No dialect of SQL has the name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no dialect {name}; {hint(name, known)}")


class UnknownRelation(NeurothekError):
    """No view and no table has the name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no view or table {name}; {hint(name, known)} (see `{command_line('schema')}`)")


class UnknownColumn(NeurothekError):
    """No column has the name."""

    def __init__(
        self, name: str, known: Sequence[str], *, relation: str | None = None, instead: str | None = None
    ) -> None:
        where = f" in {relation}" if relation else ""
        super().__init__(f"there is no column {name}{where}; {instead or hint(name.rpartition('.')[2], known)}")

    @classmethod
    def among(cls, name: str, likeliest: Sequence[str], everywhere: Sequence[str]) -> "UnknownColumn":
        """The error where only the likeliest columns are known, if any, and the names of those of all relations."""
        others = [one for one in everywhere if one.casefold() != name.casefold()]
        near = nearest(name, likeliest) or list(likeliest) or nearest(name, others)
        instead = (
            f"nearest: {enumerated(near)}" if near else f"`{command_line('schema', 'VIEW')}` lists those of a view"
        )
        return cls(name, near, instead=instead)


class BadAddress(NeurothekError):
    """A text that is no address of a neuron."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address!r} is not the address of a neuron; give model, layer and neuron as in opt-125m/L3N1702"
        )


class UnknownNeuron(NeurothekError):
    """An address beyond the model."""

    def __init__(self, address: str, n_layers: int, d_ffn: int) -> None:
        super().__init__(
            f"there is no neuron {address}: the model has layers 0 to {n_layers - 1}"
            f" and neurons 0 to {d_ffn - 1} in each; choose an address in this range"
        )
