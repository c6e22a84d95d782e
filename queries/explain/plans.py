"""What would be asked about neurons, or about explanations that people bring, before anything is sent."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NeurothekError, NotFound, NotMeasured, Refused, Unreadable
from neurothek.catalog.spelling import is_text, named
from neurothek.catalog.suggestions import hint
from neurothek.catalog.tables.explanations import (
    CONDITIONS,
    MADE_UP,
    NEURON,
    ScoreCondition,
)
from neurothek.catalog.tables.poles import POLE_NAMES
from neurothek.queries.ask.statements import records
from neurothek.queries.explain.endpoint import Endpoint
from neurothek.queries.explain.judge_calls import (
    LONGEST_TEXT,
    JudgeCall,
    explanation_of,
    explanation_prompt,
    fingerprint,
    judge_calls,
)
from neurothek.queries.explain.material import NeuronPlace, Subject, subjects
from neurothek.queries.explain.wire import Failure, Messages
from neurothek.queries.names.models import KnownModel, MeasuredCorpus, choose_corpora, choose_model, find_neuron

_TEXT_TO_COME = "x" * 300
"""Stands for an explanation that nobody has written yet, in estimates."""

_LETTERS_A_TOKEN = 4

JUDGED_CONDITIONS: tuple[ScoreCondition, ...] = tuple(one for one in CONDITIONS if one != "shuffled")

_STORED = """\
-- The explanations of a model's neurons that the warehouse keeps, the latest last.
select explanation_id, layer, neuron, pole, subject, explainer, text, prompt_sha256,
from store.explanations
where model_id = $model_id
order by created_at, explanation_id
"""

_ANSWERED = """\
-- Questions about explanations of a model that a judge answered for all of their contexts.
select explanation_id, condition, prompt_sha256,
from store.explanation_judgements
where model_id = $model_id and judge = $judge
group by explanation_id, condition, prompt_sha256
having count(answer) = count(*)
"""


@dataclass(frozen=True)
class Brought:
    """An explanation that somebody else wrote."""

    place: NeuronPlace
    pole: str | None  # None: that of the largest |m|
    explainer: str
    text: str


@dataclass
class Work:
    """One neuron at a pole: what is known of its texts so far."""

    subject: Subject
    explainer: str
    brought: str | None = None  # the text, where somebody brought it
    explanation_id: str | None = None
    text: str | None = None
    made_up: str | None = None
    borrowed_from: int | None = None  # the work whose text it borrows
    borrowed: str | None = None  # or the text, of a neuron that is explained already

    @property
    def prompt(self) -> Messages:
        """What the explainer is shown of the neuron."""
        return explanation_prompt(self.subject.material)

    @property
    def made_up_prompt(self) -> Messages:
        """What it is shown of random contexts."""
        return explanation_prompt(self.subject.made_up)


@dataclass(frozen=True)
class ExplanationPlan:
    """What would be sent to an endpoint, before anything is.

    Attributes:
        model: name of the model.
        corpus: the text that contexts are from.
        url: where questions go.
        language_model: which language model explains and judges.
        n_neurons: neurons that are explained, each at one pole.
        n_explanations: calls for explanations, those of made-up units among them.
        n_questions: calls for judgements.
        n_answered: calls whose answers the warehouse keeps already: they are not sent again.
        n_tokens_in: about how many tokens all calls together send, one for four letters.
        n_tokens_out: how many tokens all answers together may have.
        left_out: neurons that cannot be explained: they are never active at the pole, or the text is too short.
    """

    model: str
    corpus: str
    url: str
    language_model: str
    n_neurons: int
    n_explanations: int = 0
    n_questions: int = 0
    n_answered: int = 0
    n_tokens_in: int = 0
    n_tokens_out: int = 0
    left_out: int = 0
    endpoint: Endpoint | None = field(default=None, repr=False, compare=False)
    known_model: KnownModel | None = field(default=None, repr=False, compare=False)
    corpus_sha256: str = field(default="", repr=False)
    works: tuple[Work, ...] = field(default=(), repr=False, compare=False)
    seed: int = 0
    force: bool = False

    @property
    def n_calls(self) -> int:
        """Calls that are still to be sent, at most; a server in trouble is asked again up to three times."""
        return self.n_explanations + self.n_questions

    @property
    def addresses(self) -> list[str]:
        """Of the neurons."""
        return [f"{self.model}/L{work.subject.layer}N{work.subject.neuron}" for work in self.works]

    @property
    def explainers(self) -> list[str]:
        """Who explains them."""
        return sorted({work.explainer for work in self.works})

    def unconfirmed(self) -> Refused:
        """Nobody said that the calls may be sent."""
        return Refused(
            f"nothing was sent: {self.n_calls:,} calls to {self.url} have to be confirmed",
            "add --yes to send them, or --plan to see them",
            what=self.url,
            why="not confirmed",
        )

    def sentences(self) -> list[str]:
        """The plan in words."""
        lines = []
        if self.left_out:
            lines.append(f"left out: {self.left_out:,}, never active at their pole, or on too short a text")
        if self.n_calls and not any(work.borrowed or work.borrowed_from is not None for work in self.works):
            lines.append("there is no other neuron whose text could be borrowed: that control is missing")
        if self.n_answered:
            lines.append(f"answers in the warehouse, which are not asked for again: {self.n_answered:,}")
        n = self.n_neurons
        lines.append(
            f"{n:,} {'neuron' if n == 1 else 'neurons'} of {self.model} on {self.corpus}: {self.n_calls:,} calls to"
            f" {self.language_model} at {self.url}, {self.n_explanations:,} for explanations and"
            f" {self.n_questions:,} for scores; about {self.n_tokens_in:,} tokens in, at most"
            f" {self.n_tokens_out:,} out"
        )
        return lines


def plan(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    endpoint: Endpoint,
    *,
    neurons: Sequence[NeuronPlace] = (),
    brought: Sequence[Brought] = (),
    seed: int = 0,
    force: bool = False,
) -> ExplanationPlan:
    """What is to be asked about some neurons of a model, or about explanations that somebody brought.

    Args:
        connection: a reader.
        model: name of the model.
        endpoint: where to.
        neurons: layer and neuron of each.
        brought: explanations that are only scored.
        seed: of all draws.
        force: whether to ask again for what the warehouse keeps.
    """
    model_row = choose_model(connection, model)
    corpus = _corpus(connection, model_row)
    wishes = [(one.place, one.pole) for one in brought] or [(place, None) for place in neurons]
    made = subjects(connection, model_row, corpus, wishes, seed=seed)
    works = [
        Work(subject, one.explainer, one.text) if one else Work(subject, endpoint.model)
        for one, subject in zip(brought or (None for _ in made), made, strict=True)
        if subject is not None
    ]
    if not works:
        raise NotFound(
            f"none of these neurons of {model} can be explained: they are never active at their pole, or the text is"
            " too short for random contexts beside theirs",
            "choose others, or measure contexts on more text",
            what="neuron",
            name=model,
        )
    stored = records(connection, _STORED, {"model_id": model_row.model_id})
    answered = answered_by(connection, model_row.model_id, endpoint.model)
    _take_stored(works, stored, endpoint, force=force)
    _lend(works, stored, endpoint, seed)
    sha256, *_ = records(connection, "select sha256 from store.corpora where corpus_id = $id", {"id": corpus.corpus_id})
    return _counted(
        ExplanationPlan(
            model,
            corpus.corpus,
            endpoint.shown_url,
            endpoint.model,
            n_neurons=len(works),
            left_out=len(made) - len(works),
            endpoint=endpoint,
            known_model=model_row,
            corpus_sha256=sha256["sha256"],
            works=tuple(works),
            seed=seed,
            force=force,
        ),
        frozenset() if force else answered,
    )


def _corpus(connection: duckdb.DuckDBPyConnection, model: KnownModel) -> MeasuredCorpus:
    """The shown corpus of a model, if it has contexts there."""
    corpus = choose_corpora(connection, [model.name]).get(model.name)
    query = "from store.context_windows where set_id = $model_id and corpus_id = $corpus_id limit 1"
    if corpus and records(connection, query, {"model_id": model.model_id, "corpus_id": corpus.corpus_id}):
        return corpus
    raise NotMeasured(
        f"{model.name} has no contexts to explain its neurons by",
        f"measure them with `{command_line('ingest', model.name, '--job', 'activity', '--job', 'contexts')}`",
        jobs=["activity", "contexts"],
        models=[model.name],
    )


def answered_by(connection: duckdb.DuckDBPyConnection, model_id: int, judge: str) -> frozenset[tuple[str, str, str]]:
    """Explanation, condition and fingerprint of every question that a judge answered for all of its contexts."""
    rows = records(connection, _ANSWERED, {"model_id": model_id, "judge": judge})
    return frozenset((row["explanation_id"], row["condition"], row["prompt_sha256"]) for row in rows)


def _take_stored(
    works: Sequence[Work], stored: Sequence[Mapping[str, Any]], endpoint: Endpoint, *, force: bool
) -> None:
    """Texts that the warehouse keeps: of people as they are, of the endpoint if it would be sent the same again."""
    latest = {(row["layer"], row["neuron"], row["pole"], row["explainer"], row["subject"]): row for row in stored}
    for work in works:
        at = (work.subject.layer, work.subject.neuron, work.subject.pole)
        row = latest.get((*at, work.explainer, NEURON))
        if work.brought is not None:
            work.text = work.brought
            if row is not None and row["text"] == work.brought:
                work.explanation_id = row["explanation_id"]
        elif row is not None and not force and row["prompt_sha256"] in (None, fingerprint(endpoint.model, work.prompt)):
            work.text, work.explanation_id = row["text"], row["explanation_id"]
        made_up = latest.get((*at, endpoint.model, MADE_UP))
        is_same = made_up is not None and made_up["prompt_sha256"] == fingerprint(endpoint.model, work.made_up_prompt)
        if made_up is not None and is_same and not force:
            work.made_up = made_up["text"]


def _lend(works: Sequence[Work], stored: Sequence[Mapping[str, Any]], endpoint: Endpoint, seed: int) -> None:
    """Each neuron borrows the text of another one: of this plan, or of those that are explained already."""
    places: dict[NeuronPlace, list[int]] = {}
    for number, work in enumerate(works):
        places.setdefault((work.subject.layer, work.subject.neuron), []).append(number)
    for work in works:
        at = (work.subject.layer, work.subject.neuron)
        draw = random.Random(f"{seed} {at} lend")  # noqa: S311 - not a secret
        if n_others := len(works) - len(places[at]):
            index = draw.randrange(n_others)
            # Of the others, in order: its own are stepped over.
            work.borrowed_from = index + sum(number - before <= index for before, number in enumerate(places[at]))
            continue
        texts = sorted(
            {
                row["text"]
                for row in stored
                if row["subject"] == NEURON
                and row["explainer"] in (work.explainer, endpoint.model)
                and (row["layer"], row["neuron"]) != at
            }
        )
        work.borrowed = draw.choice(texts) if texts else None


def _counted(planned: ExplanationPlan, answered: frozenset[tuple[str, str, str]]) -> ExplanationPlan:
    assert planned.endpoint is not None
    n_explanations = n_questions = n_answered = n_letters = 0
    for work in planned.works:
        for text, prompt in ((work.text, work.prompt), (work.made_up, work.made_up_prompt)):
            if text is None:
                n_explanations += 1
                n_letters += _letters(prompt)
            elif work.brought is None or text is not work.text:
                n_answered += 1
        for condition in JUDGED_CONDITIONS:
            text = text_of(planned, work, condition)
            is_known = text is not None
            if not is_known and condition == "borrowed" and work.borrowed_from is None:
                continue
            for question in questions_of(planned, work, condition, text or _TEXT_TO_COME):
                key = (work.explanation_id, condition, fingerprint(planned.language_model, question.messages))
                if key in answered:
                    n_answered += 1
                else:
                    n_questions += 1
                    n_letters += _letters(question.messages)
    n_calls = n_explanations + n_questions
    return replace(
        planned,
        n_explanations=n_explanations,
        n_questions=n_questions,
        n_answered=n_answered,
        n_tokens_in=-(-n_letters // _LETTERS_A_TOKEN),
        n_tokens_out=n_calls * planned.endpoint.answer_tokens,
    )


def _letters(messages: Messages) -> int:
    return sum(len(message["content"]) for message in messages)


def text_of(planned: ExplanationPlan, work: Work, condition: ScoreCondition) -> str | None:
    """What is judged under a condition; None as long as nobody has written it."""
    if condition == "borrowed":
        return work.borrowed if work.borrowed_from is None else planned.works[work.borrowed_from].text
    return {
        "explanation": work.text,
        "random text": work.subject.random_text,
        "made-up unit": work.made_up,
    }[condition]


def questions_of(planned: ExplanationPlan, work: Work, condition: ScoreCondition, text: str) -> list[JudgeCall]:
    """What is asked about a neuron under a condition: the same for the same plan, whatever the sign of its pole."""
    at = (work.subject.layer, work.subject.neuron)
    return judge_calls(work.subject, condition, text, seed=f"{planned.seed} {at} {condition}")


_LONGEST_NAME, _SHOWN_OF_A_POLE = 500, 30
"""Letters of an address or explainer, and of what is no pole."""

FIELDS = ("address", "pole", "text", "explainer")


def read_brought(
    connection: duckdb.DuckDBPyConnection, model: str, lines: Path | Iterable[Mapping[str, Any]]
) -> list[Brought]:
    """Explanations that somebody brings: JSON lines of a file, or the fields of each; all are taken, or none."""
    entries = _lines_of(lines) if isinstance(lines, Path) else enumerate(lines, start=1)
    brought: dict[tuple[NeuronPlace, str | None, str], Brought] = {}
    for number, fields in entries:
        one = _brought(connection, model, f"line {number}", fields)
        key = (one.place, one.pole, one.explainer)
        if key in brought:
            raise _invalid(f"line {number}", "address", "the same explainer explains it already", "leave one out")
        brought[key] = one
    if not brought:
        raise Invalid("there are no explanations to score", f"give {_EXAMPLE}", option="--scores-only")
    return list(brought.values())


_EXAMPLE = 'JSON lines such as {"address": "opt-125m/L3N17", "text": "names of months", "explainer": "anna"}'


def _lines_of(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or "no reason given"
        raise Unreadable(f"{path} cannot be read: {why}", f"give {_EXAMPLE}", path=path, why=why) from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"line {number} is not JSON", f"give {_EXAMPLE}", path=path, why="not JSON") from error
        if not isinstance(fields, dict):
            raise Unreadable(f"line {number} is no JSON object", f"give {_EXAMPLE}", path=path, why="no object")
        yield number, fields


def _brought(connection: duckdb.DuckDBPyConnection, model: str, place: str, fields: Mapping[str, Any]) -> Brought:
    for name in fields:
        if name not in FIELDS:
            raise _invalid(place, str(name), "there is no such field", hint(str(name), FIELDS))
    texts = {name: fields.get(name) for name in FIELDS}
    for name in ("address", "text", "explainer"):
        value = texts[name]
        if isinstance(value, str) and name != "text" and len(value) > _LONGEST_NAME:
            raise _invalid(place, name, f"it has more than {_LONGEST_NAME:,} letters", "write less")
        if not isinstance(value, str) or not value.strip() or not is_text(value) or "\0" in value:
            raise _invalid(place, name, "it is missing or no text", f"write a text, as in {_EXAMPLE}")
    if texts["pole"] not in (None, *POLE_NAMES):
        shown_pole = str(texts["pole"])[:_SHOWN_OF_A_POLE]
        raise _invalid(place, "pole", f"{shown_pole!r} is not a pole", "write positive or negative, or leave it out")
    text = explanation_of(str(texts["text"]))
    if isinstance(text, Failure):
        raise _invalid(place, "text", f"it has more than {LONGEST_TEXT:,} letters", "write less")
    try:
        neuron = find_neuron(connection, str(texts["address"]))
    except NeurothekError as error:
        raise _invalid(place, "address", error.message, error.hint) from error
    if neuron.model != model:
        raise _invalid(place, "address", f"it is a neuron of {named(neuron.model)}", f"give neurons of {model}")
    explainer = " ".join(str(texts["explainer"]).split())
    return Brought((neuron.layer, neuron.neuron), texts["pole"], explainer, text)


def _invalid(place: str, option: str, why: str, way: str) -> Invalid:
    return Invalid(f"{place}, {option[:60]}: {why}", way, option=option)
