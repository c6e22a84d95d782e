"""Every error that a question can cause, each one sentence: what was asked, what was found, what to do."""

from neurothek.catalog.errors import NeurothekError
from neurothek.queries.errors import refused_sql, unfit_options, unknown_subjects, unknown_words
from neurothek.queries.errors.refused_sql import (
    ConditionTooSlow,
    EmptyQuery,
    FactsOfShownCorpora,
    FunctionRefused,
    NotAQuery,
    NotOneQuery,
    OutsideTheWarehouse,
    OverLimit,
    QueryFailed,
    StoppedHalfway,
    UnknownFunction,
)
from neurothek.queries.errors.unfit_options import (
    BadDepth,
    BadLayers,
    BadPredicate,
    NeuronOfOther,
    NoConcept,
    NoLayersLeft,
    NoSuchLayer,
    NotAskedHere,
    NothingChosen,
    NotMeasured,
    OtherTokenizer,
    PhraseTooLong,
)
from neurothek.queries.errors.unknown_subjects import (
    BadAddress,
    MatrixNotKept,
    NoModels,
    NoShortcuts,
    StateUnknown,
    UnknownColumn,
    UnknownCorpus,
    UnknownDialect,
    UnknownModel,
    UnknownNeuron,
    UnknownRelation,
    UnknownView,
)
from neurothek.queries.errors.unknown_words import (
    BlankWord,
    NoSuchToken,
    NoSuchWord,
    NothingAsked,
    OneWordOnly,
    SplitNotFound,
)

__all__ = [
    "BadAddress",
    "BadDepth",
    "BadLayers",
    "BadPredicate",
    "BlankWord",
    "ConditionTooSlow",
    "EmptyQuery",
    "FactsOfShownCorpora",
    "FunctionRefused",
    "MatrixNotKept",
    "NeuronOfOther",
    "NoConcept",
    "NoLayersLeft",
    "NoModels",
    "NoShortcuts",
    "NoSuchLayer",
    "NoSuchToken",
    "NoSuchWord",
    "NotAQuery",
    "NotAskedHere",
    "NotMeasured",
    "NotOneQuery",
    "NothingAsked",
    "NothingChosen",
    "OneWordOnly",
    "OtherTokenizer",
    "OutsideTheWarehouse",
    "OverLimit",
    "PhraseTooLong",
    "QueryFailed",
    "SplitNotFound",
    "StateUnknown",
    "StoppedHalfway",
    "UnknownColumn",
    "UnknownCorpus",
    "UnknownDialect",
    "UnknownFunction",
    "UnknownModel",
    "UnknownNeuron",
    "UnknownRelation",
    "UnknownView",
    "error_named",
]

_BY_NAME = {
    name: kind
    for module in (refused_sql, unfit_options, unknown_subjects, unknown_words)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and kind.__module__ == module.__name__
}


def error_named(name: str) -> type[NeurothekError]:
    """The class of an error that another process names; the base of all for one that is none of a question's."""
    return _BY_NAME.get(name, NeurothekError)
