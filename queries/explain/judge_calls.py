"""What is put to the language model, word by word, and how its answers are read."""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neurothek.catalog.tables.explanations import Method, Part, ScoreCondition
from neurothek.queries.explain.material import Context, Material, Subject
from neurothek.queries.explain.wire import Failure, Messages

BATCH = 5
"""Contexts that a judge is shown at a time."""

MOST_INTRUDERS = 5
LONGEST_TEXT = 1_000
"""Letters of an explanation: what is longer explains nothing in short."""

_EXPLAIN = (
    "You study one neuron of a language model. You are given extracts of text, separated by lines. Tokens at which "
    "the neuron is active stand between << and >>; after each extract they are listed with their activation from 1 to "
    "10. The tokens that the neuron makes more probable follow at the end. Say in one short phrase what the neuron "
    "responds to: what the marked tokens and what stands before them have in common. Answer with the phrase alone."
)
_DETECT = (
    "You are given a description of a neuron of a language model, and {n} numbered extracts of text. For each extract "
    "decide whether the neuron is active in it, if the description is right. Answer with a JSON list of {n} numbers "
    "in the order of the extracts, 1 for active and 0 for not active, and nothing else, such as {example}."
)
_FUZZ = (
    "You are given a description of a neuron of a language model, and {n} numbered extracts of text, in which some "
    "tokens stand between << and >>. For each extract decide whether the neuron is active at the marked tokens, if "
    "the description is right. Answer with a JSON list of {n} numbers in the order of the extracts, 1 for active "
    "there and 0 for not, and nothing else, such as {example}."
)
_INTRUDE = (
    "You are given {n} numbered extracts of text. All but one of them have something in common that makes one neuron "
    "of a language model active. Answer with the number of the odd one, from 1 to {n}, and nothing else."
)
_SHOWN_CONTEXTS = """\
 We met on<< Monday>> and again on<< Friday>>.
Active: " Monday" 10, " Friday" 7
---
 The shop is closed on<< Sunday>>, they said
Active: " Sunday" 8
---
Tokens made more probable: " morning", " night"
The neuron responds to:"""
_SHOWN_TEXT = "days of the week"
_SHOWN_EXTRACTS = (
    "the sky was blue that day",
    "we walked to the shop and",
    "he has two sisters, who",
    "a red car and a green one",
    "she said that it would rain",
)
_SHOWN_MARKED = (
    "the sky was<< blue>> that day",
    "a red<< car>> and a green one",
    "with<< black>> shoes and",
    "white walls,<< where>> she",
    "my<< yellow>> hat is",
)
_SHOWN_ODD = (
    "the sky was blue that day",
    "a red car and a green one",
    "he has two sisters, who",
    "with black shoes and",
    "my yellow hat is",
)
_SHOWN_DESCRIPTION = "names of colours"
_SHOWN_ANSWERS = ((1, 0, 0, 1, 0), (1, 0, 1, 0, 1), 3)
"""Right answers to made questions, which show small language models the form: one before each question [ours]."""

_WHICH = "Number of the odd one:"

_LIST = re.compile(r"\[[^\[\]]*\]")
_NUMBER = re.compile(r"(?<![\d.])\d+(?![\d.])")


@dataclass(frozen=True)
class Example:
    """One context in a question, with its label and the label that it gets when labels are shuffled."""

    context: Context
    part: Part
    is_true: bool
    shuffled_part: Part
    shuffled_is_true: bool


@dataclass(frozen=True)
class JudgeCall:
    """One call to a judge."""

    method: Method
    condition: ScoreCondition
    messages: Messages
    examples: tuple[Example, ...]  # those that it is about: of five contexts with an intruder the intruder
    intruder: int = 0  # its number among the contexts, from 1; 0: there is none
    shuffled_intruder: int = 0  # the number that is held against the same answer

    def read(self, text: str) -> tuple[list[bool], list[bool]] | Failure:
        """The judge's answer for each example, and what it would be held to be with shuffled labels."""
        if self.method == "intruder":
            number = _one_number(text, 1, BATCH)
            return (
                number
                if isinstance(number, Failure)
                else ([number == self.intruder], [number == self.shuffled_intruder])
            )
        answers = _list_of(text, len(self.examples))
        return answers if isinstance(answers, Failure) else (answers, answers)


def fingerprint(model: str, messages: Messages) -> str:
    """What tells one prompt to one language model from every other."""
    text = json.dumps([model, [dict(message) for message in messages]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def explanation_prompt(material: Material) -> Messages:
    """What an explainer is shown."""
    blocks = []
    for context in material.displayed:
        active = ", ".join(f"{_token(context.tokens[at])} {context.levels[at]}" for at in context.marks)
        blocks.append(f"{_marked(context, context.marks)}\nActive: {active}")
    promoted = ", ".join(map(_token, material.promoted))
    body = "\n---\n".join(blocks) + (f"\n---\nTokens made more probable: {promoted}" if promoted else "")
    return _messages(_EXPLAIN, (_SHOWN_CONTEXTS, _SHOWN_TEXT), f"{body}\nThe neuron responds to:")


def explanation_of(text: str) -> str | Failure:
    """An explanation on one line, or what is wrong with it."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else Failure("explanation of more than a thousand letters")


def judge_calls(subject: Subject, condition: ScoreCondition, text: str, *, seed: str) -> list[JudgeCall]:
    """All that is asked about a neuron under one condition.

    Args:
        subject: the neuron.
        condition: explanation, borrowed, random text or made-up unit.
        text: what is judged.
        seed: of what is drawn.
    """
    material = subject.made_up if condition == "made-up unit" else subject.material
    return [
        *_detection(material, condition, text, seed),
        *_fuzzing(material, condition, text, seed),
        *(_intruders(material, condition, seed) if condition in ("explanation", "made-up unit") else ()),
    ]


def _detection(material: Material, condition: ScoreCondition, text: str, seed: str) -> Iterable[JudgeCall]:
    if not material.inactive or not material.active:
        return
    labelled: list[tuple[Context, Part, bool]] = [
        *((context, part, True) for part, context in material.active),
        *((context, "inactive", False) for context in material.inactive),
    ]
    for examples in _batches(labelled, f"{seed} detection"):
        prompt = _DETECT.format(n=len(examples), example=_example(len(examples)))
        body = _numbered(text, [_plain(one.context) for one in examples])
        worked = _worked_example(_SHOWN_EXTRACTS, _SHOWN_ANSWERS[0], len(examples))
        yield JudgeCall("detection", condition, _messages(prompt, worked, body), examples)


def _fuzzing(material: Material, condition: ScoreCondition, text: str, seed: str) -> Iterable[JudgeCall]:
    """Each context twice, its right tokens marked or as many others, never both in one question."""
    draw = random.Random(f"{seed} marks")  # noqa: S311 - not a secret
    contexts = [
        (part, context)
        for part, context in material.active
        if 0 < len(context.marks) <= len(context.tokens) - len(context.marks)
    ]
    for half in (0, 1):
        marks: dict[tuple[int, int], tuple[int, ...]] = {}
        labelled: list[tuple[Context, Part, bool]] = []
        for number, (part, context) in enumerate(contexts):
            others = [at for at, level in enumerate(context.levels) if not level]
            wrong = tuple(sorted(draw.sample(others, len(context.marks))))
            is_right = number % 2 == half
            marks[context.sequence_id, context.first] = context.marks if is_right else wrong
            labelled.append((context, part, is_right))
        for examples in _batches(labelled, f"{seed} fuzzing {half}"):
            prompt = _FUZZ.format(n=len(examples), example=_example(len(examples)))
            extracts = [_marked(one.context, marks[one.context.sequence_id, one.context.first]) for one in examples]
            worked = _worked_example(_SHOWN_MARKED, _SHOWN_ANSWERS[1], len(examples))
            yield JudgeCall("fuzzing", condition, _messages(prompt, worked, _numbered(text, extracts)), examples)


def _intruders(material: Material, condition: ScoreCondition, seed: str) -> Iterable[JudgeCall]:
    draw = random.Random(f"{seed} intruder")  # noqa: S311 - not a secret
    active = [context for _, context in material.active]
    if len(active) < BATCH - 1:
        return
    for context in material.inactive[:MOST_INTRUDERS]:
        extracts = draw.sample(active, BATCH - 1)
        number, shuffled = draw.randint(1, BATCH), draw.randint(1, BATCH)
        extracts.insert(number - 1, context)
        example = Example(context, "inactive", True, "inactive", True)
        worked = f"{_numbered('', _SHOWN_ODD)}\n{_WHICH}", str(_SHOWN_ANSWERS[2])
        body = f"{_numbered('', [_plain(one) for one in extracts])}\n{_WHICH}"
        messages = _messages(_INTRUDE.format(n=BATCH), worked, body)
        yield JudgeCall("intruder", condition, messages, (example,), number, shuffled)


def _batches(labelled: Sequence[tuple[Context, Part, bool]], seed: str) -> Iterable[tuple[Example, ...]]:
    """The contexts in random order, a few at a time, each with its label and that of another one."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    mixed = draw.sample(labelled, len(labelled))
    labels = draw.sample([(part, is_true) for _, part, is_true in mixed], len(mixed))
    examples = [
        Example(context, part, is_true, *other) for (context, part, is_true), other in zip(mixed, labels, strict=True)
    ]
    return (tuple(examples[first : first + BATCH]) for first in range(0, len(examples), BATCH))


def _messages(prompt: str, worked: tuple[str, str], body: str) -> Messages:
    """Instructions, a made question with its answer, and the question."""
    return (
        {"role": "system", "content": prompt},
        {"role": "user", "content": worked[0]},
        {"role": "assistant", "content": worked[1]},
        {"role": "user", "content": body},
    )


def _worked_example(extracts: Sequence[str], answers: Sequence[int], n: int) -> tuple[str, str]:
    """A made question of as many extracts, and its answer."""
    return _numbered(_SHOWN_DESCRIPTION, extracts[:n]), json.dumps(list(answers[:n]))


def _numbered(text: str, extracts: Sequence[str]) -> str:
    described = f"Description: {text}\n\n" if text else ""
    return described + "\n".join(f"Extract {number}: {extract}" for number, extract in enumerate(extracts, start=1))


def _plain(context: Context) -> str:
    return " ".join(context.text.split())


def _marked(context: Context, marks: Sequence[int]) -> str:
    tokens = (f"<<{token}>>" if at in marks else token for at, token in enumerate(context.tokens))
    return " ".join("".join(tokens).split())


def _token(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _example(n: int) -> str:
    return json.dumps([number % 2 for number in range(1, n + 1)])


def _list_of(text: str, n: int) -> list[bool] | Failure:
    """The last list in an answer, if it says yes or no as often as was asked: else nobody knows which are missing."""
    lists = _LIST.findall(text)
    try:
        values = json.loads(lists[-1]) if lists else None
    except (ValueError, RecursionError):
        values = None
    if values is None:
        return Failure("answer that is no list")
    if len(values) != n:
        return Failure("answer for another number of contexts")
    if not all(type(value) in (int, bool) and value in (0, 1) for value in values):
        return Failure("answer that is neither 0 nor 1")
    return [bool(value) for value in values]


def _one_number(text: str, first: int, last: int) -> int | Failure:
    numbers = {int(number) for number in _NUMBER.findall(text) if len(number) < 3}
    if len(numbers) != 1 or not first <= min(numbers) <= last:
        return Failure("answer that is not one of the numbers")
    return numbers.pop()
