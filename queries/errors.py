"""Every error that a question can cause, each one sentence: what was asked, what was found, what to do."""

from collections.abc import Collection, Sequence

from catalog.advice import command_line
from catalog.errors import NeurothekError
from catalog.visible import named, readable, visible
from queries.suggestions import hint, listed, nearest

# What a question is about


class NoModels(NeurothekError):
    """The warehouse holds nothing to ask about."""

    def __init__(self) -> None:
        super().__init__(f"the warehouse holds no model yet; measure one with `{command_line('ingest', 'MODEL')}`")


class UnknownModel(NeurothekError):
    """No model has the name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no model {named(name)} in the warehouse; {hint(name, known)}")


class UnknownCorpus(NeurothekError):
    """The models asked about were not measured on the corpus."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no model asked about was measured on a corpus {named(name)}; {hint(name, known)}")


class NoShortcuts(NeurothekError):
    """A model's linear shortcuts were not measured, or not on the corpus."""

    def __init__(self, model: str, corpus: str | None, measured: Sequence[str], on: Sequence[str] = ()) -> None:
        where = f" on {corpus}" if corpus and measured else ""
        command = command_line("ingest", model, "--job", "shortcuts", *on)
        found = f"they were on {', '.join(measured)}: name that corpus, or measure" if measured else "measure"
        super().__init__(f"no shortcut of {model} is kept{where}; {found} them with `{command}`")


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
        instead = f"nearest: {listed(near)}" if near else f"`{command_line('schema', 'VIEW')}` lists those of a view"
        return cls(name, near, instead=instead)


class BadAddress(NeurothekError):
    """A text that is no address of a neuron."""

    def __init__(self, address: str) -> None:
        super().__init__(f"{address!r} is no address of a neuron; name model, layer and neuron as in opt-125m/L3N1702")


class UnknownNeuron(NeurothekError):
    """An address beyond the model."""

    def __init__(self, address: str, n_layers: int, d_ffn: int) -> None:
        super().__init__(
            f"there is no neuron {address}: the model has layers 0 to {n_layers - 1}"
            f" and neurons 0 to {d_ffn - 1} in each; write an address within these"
        )


# Words


class NothingAsked(NeurothekError):
    """A search without words."""

    def __init__(self) -> None:
        super().__init__(f"a search needs at least one word, for example `{command_line('search', 'school')}`")


class OneWordOnly(NeurothekError):
    """Exact scores of more than one word, or of one that is no token."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(
            f"exact scores are those of one word that is a token, and {' '.join(words)!r} is more; ask for one word, or"
            ' for any of several as "he,him,his"'
        )


class BlankWord(NeurothekError):
    """A word of nothing but white space."""

    def __init__(self, word: str) -> None:
        super().__init__(f"the word {word!r} is only white space; search for such a token with --exact")


class NoSuchWord(NeurothekError):
    """A word that no tokenizer can write."""

    def __init__(self, word: str, near: Sequence[str]) -> None:
        super().__init__(f"{word!r} is no token of the models asked about and {_near(near)}")


class SplitNotFound(NeurothekError):
    """A word of several tokens that no neuron lists together."""

    def __init__(self, word: str, parts: Sequence[str], near: Sequence[str]) -> None:
        pieces = " ".join(map(visible, parts))
        super().__init__(
            f"{word!r} is no token but splits into {pieces}, which no neuron asked about lists together,"
            f" and {_near(near)}"
        )


class NoSuchToken(NeurothekError):
    """No token has exactly this text."""

    def __init__(self, text: str, alike: Sequence[str], advice: str = "leave out --exact to search by word") -> None:
        self.text, self.alike = text, alike
        found = listed(dict.fromkeys(repr(token) for token in alike))
        what = f"there are {found}" if alike else f"none reads like it; {advice}"
        super().__init__(f"no token is exactly {text!r}; {what}")


# Options


class BadLayers(NeurothekError):
    """A range of layers that is none."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no range of layers; write one as 3 or several as 3-5")


class BadDepth(NeurothekError):
    """A range of depths that is none."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no range of depths; write one within 0 and 1, such as 0.5-1")


class NoLayersLeft(NeurothekError):
    """Layers and depths that no model has."""

    def __init__(self) -> None:
        super().__init__("no model asked about has a layer in that range of layers and depths; ask for a wider one")


class NotMeasured(NeurothekError):
    """A question about measurements that no model asked about has."""

    def __init__(self, what: str, job: str) -> None:
        command = command_line("ingest", "MODEL", "--job", job)
        super().__init__(f"{what} of no model asked about; measure them with `{command}`")


class PhraseTooLong(NeurothekError):
    """A phrase of more tokens than the n-grams that were counted."""

    def __init__(self, phrase: str, pieces: Sequence[str], longest: int) -> None:
        super().__init__(
            f"{phrase!r} is {len(pieces)} tokens ({' '.join(map(visible, pieces))}), and n-grams of at most {longest}"
            " were counted; ask for a shorter phrase"
        )


class OtherTokenizer(NeurothekError):
    """Models whose tokens cannot be compared."""

    def __init__(self, asked: str, others: Sequence[str]) -> None:
        super().__init__(
            f"the tokens of {listed(others)} are not those of {asked}, so their lists cannot be compared; ask for"
            f" models with the same tokenizer (see `{command_line('models', '--format', 'json')}`)"
        )


class BadOption(NeurothekError):
    """A condition of a question, given in Python, that is of the wrong kind or out of range."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"{name}={value!r} cannot be asked; {expected}")


class NotAskedHere(NeurothekError):
    """Conditions that an answer of this kind would not follow."""

    def __init__(self, conditions: Sequence[str], kind: str, honoured: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(conditions)} cannot be asked of {kind}, only {', '.join(honoured)}; leave out what is more"
        )


class NoConcept(NeurothekError):
    """Something is said of the words that a concept is widened with, but no concept is asked for."""

    def __init__(self, conditions: Sequence[str]) -> None:
        said = f"{' and '.join(conditions)} {'is' if len(conditions) == 1 else 'are'}"
        super().__init__(
            f"{said} about the words that a concept is widened with, and none is asked for;"
            " add --concept (concept=True)"
        )


class NoSuchLayer(NeurothekError):
    """Layers beyond every model asked about."""

    def __init__(self, first: int, deepest: int) -> None:
        super().__init__(
            f"there is no layer {first}: the deepest model asked about has layers 0 to {deepest};"
            " ask for layers within these"
        )


class BadPredicate(NeurothekError):
    """A condition on neurons that is not one expression, or may take any amount of memory."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(
            f"the condition {text!r} {problem}; write one expression over the columns of neurons, "
            'for example "frequency < 0.01 and layer > 3"'
        )


# SQL


class NotOneQuery(NeurothekError):
    """SQL of several statements."""

    def __init__(self, n_statements: int) -> None:
        super().__init__(f"the query holds {n_statements} statements; ask one query at a time")


class EmptyQuery(NeurothekError):
    """A text without a statement."""

    def __init__(self, text: str) -> None:
        found = "holds nothing but comments and semicolons" if text.strip() else "is empty"
        super().__init__(
            f'the query {found}; write one, for example "from models" (`{command_line("views")}` lists what there is)'
        )


class NotAQuery(NeurothekError):
    """A statement that does more than ask."""

    def __init__(self, kind: str) -> None:
        reason = _REASONS.get(kind.partition(" ")[0], "it does more than ask")
        super().__init__(
            f"{kind} is refused, as {reason}; ask one SELECT (also WITH, FROM, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN)"
        )


_REASONS = {
    **dict.fromkeys(("COPY", "EXPORT", "CHECKPOINT", "FORCE", "VACUUM"), "it writes files"),
    **dict.fromkeys(("IMPORT", "ATTACH", "DETACH", "USE"), "it leaves this warehouse for another database"),
    **dict.fromkeys(("INSTALL", "LOAD", "UPDATE_EXTENSIONS"), "it runs other code"),
    **dict.fromkeys(("SET", "RESET"), "it changes settings"),
    "PRAGMA": "it speaks to DuckDB itself and not of this warehouse's rows",
    **dict.fromkeys(("CALL", "EXECUTE", "PREPARE", "DEALLOCATE"), "it runs what this query does not show"),
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "TRUNCATETABLE"), "it changes rows"),
    **dict.fromkeys(("CREATE", "DROP", "ALTER", "COMMENT", "INTO"), "it changes tables or views"),
    **dict.fromkeys(("BEGIN", "COMMIT", "ROLLBACK", "START", "ABORT", "TRANSACTION"), "nothing is there to commit"),
    "EXPLAIN": "only a plain EXPLAIN of a query runs nothing",
}


class FunctionRefused(NeurothekError):
    """A function that reaches beyond the warehouse or does more than compute, or that nobody has looked at."""

    def __init__(self, name: str, reason: str, within: str = "") -> None:
        called = f"{name}, which {within} calls," if within else name
        super().__init__(
            f"the function {called} is refused, as {reason}; ask of the views and tables"
            f" (see `{command_line('schema')}`)"
        )


class UnknownFunction(NeurothekError):
    """A function that DuckDB does not have."""

    def __init__(self, name: str, functions: Collection[str]) -> None:
        near = nearest(name, functions)
        instead = f"nearest: {listed(near)}" if near else "`from duckdb_functions()` lists those of DuckDB"
        super().__init__(f"there is no function {visible(name)}; {instead}")


class MacroInTheWay(NeurothekError):
    """A macro of the file that takes the name of a function of DuckDB."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"this file has a macro called {name}, which answers in place of DuckDB's own {name}; neurothek makes no"
            " macros: import an export of the file, and ask that"
        )


class OutsideTheWarehouse(NeurothekError):
    """A table that would be a file, an address, or in another database."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not in this warehouse, and files, addresses and other databases are out of reach; ask of its"
            f" views and tables (see `{command_line('schema')}`)"
        )


class ConditionTooSlow(NeurothekError):
    """A condition on neurons that was stopped."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(
            f"with the condition {text!r} the question took more than {seconds:g} s and was stopped; write a simpler"
            " condition, or ask fewer models with --model"
        )


class OverLimit(NeurothekError):
    """A query that was stopped."""

    def __init__(self, found: str, limit: str) -> None:
        super().__init__(f"the query {found} and was stopped; narrow it, or allow more with {limit}")


class StoppedHalfway(NeurothekError):
    """A query that failed when many of its rows had been printed."""

    def __init__(self, error: NeurothekError, n_rows: int) -> None:
        super().__init__(f"{error}; the {n_rows:,} rows that were printed before are not the whole answer")


class FactsOfShownCorpora(NeurothekError):
    """A query of a corpus that reads a table which holds no rows of it."""

    def __init__(self, corpus: str) -> None:
        super().__init__(
            f"the table store.neuron_facts was asked for on the corpus {corpus}, but it holds each model's shown"
            " corpus; ask the view neurons, or leave out --corpus"
        )


class QueryFailed(NeurothekError):
    """DuckDB's own complaint, as one sentence.

    Attributes:
        problem: the complaint alone.
    """

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"the query failed: {problem}; mend it and ask again (`{command_line('schema', 'NAME')}` lists columns)"
        )


def _near(words: Sequence[str]) -> str:
    if not words:
        return "no word is near it; ask for a word of their vocabulary (the view tokens)"
    return f"the nearest words are {listed([readable(word) for word in words])}; ask for one of these"
