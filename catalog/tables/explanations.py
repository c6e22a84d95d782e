"""Tables of what people and language models say of neurons in words, and of what a judge makes of it."""

from typing import Literal, get_args

from neurothek.catalog.tables.table import FLAG, INTEGER, SMALL, TEXT, TIME, Column, Table

SINCE = 35

Method = Literal["detection", "fuzzing", "intruder"]
ScoreCondition = Literal["explanation", "borrowed", "random text", "made-up unit", "shuffled"]
Part = Literal["strongest", "upper", "middle", "lower", "inactive"]

METHODS: tuple[Method, ...] = get_args(Method)
CONDITIONS: tuple[ScoreCondition, ...] = get_args(ScoreCondition)
PARTS: tuple[Part, ...] = get_args(Part)

NEURON, MADE_UP = "neuron", "made-up"
"""What an explanation is of: a neuron, or random contexts that were presented as if they were a neuron's."""

EXPLANATIONS = Table(
    "explanations",
    "One row per neuron, pole, explainer and subject: what a person or a language model says in words of the contexts "
    "in which it is strong.",
    key=("explanation_id",),
    since=SINCE,
    columns={
        "explanation_id": Column(TEXT, "UUID of the explanation, so that those of several people can be merged."),
        "model_id": Column(INTEGER, "The model."),
        "layer": Column(SMALL, "Layer of the neuron, 0-based."),
        "neuron": Column(INTEGER, "Neuron within the layer, 0-based."),
        "pole": Column(TEXT, "Sign of the coefficient that it is about: positive or negative."),
        "subject": Column(
            TEXT,
            "neuron: the contexts of the neuron; made-up: random contexts, presented as if they were its own, the "
            "control of a made-up unit.",
        ),
        "explainer": Column(TEXT, "Who explains: a person, or a language model by the name that its endpoint knows."),
        "text": Column(TEXT, "The explanation, as it was written."),
        "prompt_sha256": Column(
            TEXT, "Fingerprint of what the language model was sent; null where people brought the text.", nullable=True
        ),
        "created_at": Column(TIME, "When it was published, in UTC."),
    },
)

EXPLANATION_JUDGEMENTS = Table(
    "explanation_judgements",
    "One row per explanation, judge, method, condition and context that was put to the judge: what it answered (after "
    "Paulo et al. 2024; the controls are ours).",
    key=("judgement_id",),
    since=SINCE,
    columns={
        "judgement_id": Column(TEXT, "UUID of the judgement."),
        "explanation_id": Column(TEXT, "The explanation whose score it is part of."),
        "model_id": Column(INTEGER, "The model."),
        "judge": Column(TEXT, "The language model that judged."),
        "method": Column(
            TEXT,
            "detection: does the text fit the context; fuzzing: does it fit the marked tokens; intruder: which of "
            "five contexts is the odd one, without any text.",
        ),
        "condition": Column(
            TEXT,
            "explanation, or a control: borrowed (the text of another neuron), random text (words drawn from the "
            "corpus), made-up unit (random contexts, and what was said of others of them), shuffled (the answers to "
            "the explanation, held against the labels of other contexts).",
        ),
        "part": Column(
            TEXT,
            "Where the context is from: strongest, or upper, middle or lower third of a sample; inactive: nowhere "
            "active. Of intruders inactive.",
        ),
        "sequence_id": Column(INTEGER, "Sequence of the corpus that the context is of."),
        "position": Column(INTEGER, "Position of its first token in the sequence, 0-based."),
        "is_true": Column(
            FLAG, "The label: whether the neuron is active there, or for fuzzing whether the right tokens are marked."
        ),
        "answer": Column(
            FLAG,
            "What the judge said: whether the text fits; of intruders, whether it named the odd one. Null where the "
            "endpoint failed.",
            nullable=True,
        ),
        "prompt_sha256": Column(TEXT, "Fingerprint of the question, which several contexts share."),
        "corpus_sha256": Column(TEXT, "Fingerprint of the corpus that the contexts are from."),
        "created_at": Column(TIME, "When it was published, in UTC."),
    },
)
