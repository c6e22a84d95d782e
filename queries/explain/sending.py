"""The calls of a plan: several sent at a time, answers kept in their order, and what is not answered is missing."""

import queue
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.problems import Busy, NotFound, Unavailable
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.publishing.explanation_rows import (
    forget_judgements,
    write_explanation_judgements,
    write_explanations,
)
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.explanations import (
    EXPLANATION_JUDGEMENTS,
    EXPLANATIONS,
    MADE_UP,
    NEURON,
)
from neurothek.queries.ask.statements import records
from neurothek.queries.explain.endpoint import Endpoint, Session
from neurothek.queries.explain.judge_calls import (
    JudgeCall,
    explanation_of,
    fingerprint,
)
from neurothek.queries.explain.plans import JUDGED_CONDITIONS, ExplanationPlan, Work, answered_by, questions_of, text_of
from neurothek.queries.explain.wire import Failure, Messages

MOST_FAILURES = 5
"""Calls in a row that an endpoint may fail before it is asked no more."""

MOST_USELESS = 20
"""Answers that may be of no use, from the first text or the first judgement on, before no more is asked."""

_NOT_SENT = "not sent"
_FLUSH_SECONDS = 5.0
_LEAVING_SECONDS = 0.5


@dataclass(frozen=True)
class CallsOutcome:
    """What became of the calls of a plan.

    Attributes:
        n_sent: calls that were sent.
        failures: why a call brought no answer -> how many calls; those that were not sent any more among them.
        stopped: why no more calls were sent; empty if all were.
        remarks: what to do about failures, and what is to be known of the answers.
    """

    n_sent: int
    failures: Mapping[str, int]
    stopped: str = ""
    remarks: Sequence[str] = ()

    def sentences(self) -> list[str]:
        """Failures in words, if there are any."""
        lines = []
        if self.failures:
            counted = ", ".join(f"{n:,} x {why}" for why, n in self.failures.items())
            lines.append(f"{sum(self.failures.values()):,} calls without an answer are missing values: {counted}")
        lines += self.remarks
        if self.stopped:
            lines.append(f"stopped: {self.stopped}; what was answered is kept, so repeat the command to continue")
        return lines


@dataclass(frozen=True)
class _Call:
    """One call: what is sent, and what becomes of its answer."""

    messages: Messages
    read: Callable[[str], Any]  # the answer, or a failure where it is of no use; in the order in which answers come
    take: Callable[[Any], None]  # what was read, or the failure; in the order of the calls


@dataclass
class _Sent:
    """Calls that wait for an answer, or for those before them."""

    number: int = 0  # of calls so far
    under_way: dict[int, _Call] = field(default_factory=dict)
    arrived: dict[int, tuple[_Call, Any]] = field(default_factory=dict)
    next_taken: int = 0

    def take(self) -> None:
        """Hand over what has arrived, up to the first call without an answer."""
        while self.next_taken in self.arrived:
            call, outcome = self.arrived.pop(self.next_taken)
            self.next_taken += 1
            call.take(outcome)

    def take_all(self) -> None:
        """Hand over all that has arrived, in order: the others are lost."""
        for number in sorted(self.arrived):
            call, outcome = self.arrived.pop(number)
            call.take(outcome)


class _Calls:
    """Sends calls as long as the endpoint answers, the first alone, and counts those that it does not."""

    def __init__(self, session: Session, endpoint: Endpoint, progress: Progress) -> None:
        self._session, self._endpoint, self._progress = session, endpoint, progress
        self._results: queue.Queue[tuple[int, str | Failure | BaseException]] = queue.Queue()
        self.n_sent = self.n_answered = self.n_in_a_row = 0
        self.n_of_kind = self.n_useful = 0  # answers to calls of a kind, and those that could be read
        self._threads: list[threading.Thread] = []
        self.failures: Counter[str] = Counter()
        self.examples: dict[str, Failure] = {}
        self.stopped = ""

    def send(self, calls: Iterable[_Call]) -> None:
        """Send calls of one kind, as many at a time as the endpoint takes; each is taken after those before it."""
        if self.n_useful:
            # It says nothing of answers of another kind.
            self.n_of_kind = self.n_useful = 0
        sent, rest = _Sent(), iter(calls)
        try:
            while True:
                self._start(sent, rest)
                sent.take()
                if not sent.under_way:
                    break
                number, answer = self._results.get()
                self._arrive(sent, number, answer)
        finally:
            self._drain(sent)
        for call in rest:
            call.take(self._missing(Failure(_NOT_SENT)))

    def _start(self, sent: _Sent, rest: Iterator[_Call]) -> None:
        # The first call finds out what the server takes, and whether it is there.
        width = self._endpoint.parallel if self.n_answered else 1
        while not self.stopped and len(sent.under_way) < width:
            call = next(rest, None)
            if call is None:
                return
            number, sent.number = sent.number, sent.number + 1
            sent.under_way[number] = call
            self.n_sent += 1
            thread = threading.Thread(target=self._ask, args=(number, call.messages), daemon=True, name="explain")
            self._threads = [*(one for one in self._threads if one.is_alive()), thread]
            thread.start()

    def _drain(self, sent: _Sent) -> None:
        """Take what has arrived until now, whatever ends the run."""
        while not self._results.empty():
            number, answer = self._results.get_nowait()
            if not isinstance(answer, BaseException):
                self._arrive(sent, number, answer)
        sent.take_all()

    def _ask(self, number: int, messages: Messages) -> None:
        try:
            self._results.put((number, self._session.answer(messages)))
        except BaseException as error:  # noqa: BLE001 - raised again where calls are sent
            self._results.put((number, error))

    def _arrive(self, sent: _Sent, number: int, answer: str | Failure | BaseException) -> None:
        if isinstance(answer, BaseException):
            raise answer
        call = sent.under_way.pop(number)
        self._progress.advance()
        outcome = answer if isinstance(answer, Failure) else call.read(answer)
        sent.arrived[number] = (call, outcome)
        is_answered = not isinstance(answer, Failure) or answer.is_answered
        self.n_answered += is_answered
        self.n_of_kind += is_answered
        self.n_in_a_row = 0 if is_answered else self.n_in_a_row + 1
        if not isinstance(outcome, Failure):
            self.n_useful += 1
            return
        self._missing(outcome)
        if self.stopped:
            return
        if outcome.is_final:
            self.stopped = f"the endpoint answers with {_in_words(outcome)}"
        elif self.n_in_a_row >= MOST_FAILURES:
            reason = _in_words(outcome)
            self.stopped = f"the endpoint failed {MOST_FAILURES} times in a row, the last time with: {reason}"
        elif not self.n_useful and self.n_of_kind >= MOST_USELESS:
            self.stopped = (
                f"the first {MOST_USELESS} answers of their kind are of no use, the last one is an {outcome.why}"
            )

    def _missing(self, failure: Failure) -> Failure:
        """Count a call without an answer."""
        self.failures[failure.why] += 1
        self.examples.setdefault(failure.why, failure)
        return failure

    def leave(self) -> None:
        """Let calls under way end without an answer, soon."""
        self._session.close()
        for thread in self._threads:
            thread.join(_LEAVING_SECONDS)

    def require_any(self) -> None:
        """Raise an error where the endpoint has answered nothing at all: then nothing is kept of it either."""
        if self.n_answered or not self.n_sent:
            return
        failure = next(one for why, one in self.examples.items() if why != _NOT_SENT)
        raise Unavailable(
            f"{self._endpoint.shown_url} gives no answer of {self._endpoint.model}: {_in_words(failure)}",
            failure.advice or "see to the server, and repeat the command",
            what="endpoint",
            name=self._endpoint.shown_url,
            why=failure.why,
        )

    def outcome(self) -> CallsOutcome:
        """What became of them."""
        advice = [
            f"{why}{_quoted(failure)}: {failure.advice}" for why, failure in self.examples.items() if failure.advice
        ]
        remarks = [*advice, *self._session.dialect.sentences()]
        return CallsOutcome(self.n_sent, dict(self.failures.most_common()), self.stopped, remarks)


def _in_words(failure: Failure) -> str:
    return f"{failure.why}{_quoted(failure)}"


def _quoted(failure: Failure) -> str:
    return f' ("{failure.quote}")' if failure.quote else ""


class _Rows:
    """Answers that wait to be stored: every few seconds, and whatever ends the run."""

    def __init__(self, warehouse: Warehouse, planned: ExplanationPlan) -> None:
        self._warehouse, self._planned = warehouse, planned
        self._explanations: list[dict[str, Any]] = []
        self._judgements: list[dict[str, Any]] = []
        self._since = time.monotonic()
        self.is_held = True  # as long as the endpoint has answered nothing

    def explanation(self, work: Work, subject: str, text: str, explainer: str, prompt: Messages | None) -> str:
        """Take an explanation; returns its UUID."""
        number = str(uuid.uuid4())
        self._explanations.append(
            {
                "explanation_id": number,
                **self._model(),
                "layer": work.subject.layer,
                "neuron": work.subject.neuron,
                "pole": work.subject.pole,
                "subject": subject,
                "explainer": explainer,
                "text": text,
                "prompt_sha256": None if prompt is None else fingerprint(self._planned.language_model, prompt),
                "created_at": _now(),
            }
        )
        self._flush_if_due()
        return number

    def judgements(
        self, work: Work, question: JudgeCall, answers: Sequence[bool | None], moved: Sequence[bool | None]
    ) -> None:
        """Take what a judge said of the contexts of a question, also held against the labels of other contexts."""
        conditions = [(question.condition, answers, False)]
        if question.condition == "explanation":
            conditions.append(("shuffled", moved, True))
        for condition, said_of, is_shuffled in conditions:
            for example, answer in zip(question.examples, said_of, strict=True):
                self._judgements.append(
                    {
                        "judgement_id": str(uuid.uuid4()),
                        "explanation_id": work.explanation_id,
                        **self._model(),
                        "judge": self._planned.language_model,
                        "method": question.method,
                        "condition": condition,
                        "part": example.shuffled_part if is_shuffled else example.part,
                        "sequence_id": example.context.sequence_id,
                        "position": example.context.first,
                        "is_true": example.shuffled_is_true if is_shuffled else example.is_true,
                        "answer": answer,
                        "prompt_sha256": fingerprint(self._planned.language_model, question.messages),
                        "corpus_sha256": self._planned.corpus_sha256,
                        "created_at": _now(),
                    }
                )
        self._flush_if_due()

    def _model(self) -> dict[str, int]:
        assert self._planned.known_model is not None
        return {"model_id": self._planned.known_model.model_id}

    def _flush_if_due(self) -> None:
        if not self.is_held and time.monotonic() - self._since >= _FLUSH_SECONDS:
            try:
                self.flush()
            except Busy:
                # Somebody reads for long: the answers wait on.
                self._since = time.monotonic()

    def flush(self, forgotten: Iterable[tuple[str, list[str]]] = ()) -> None:
        """Store what waits, all of it or nothing."""
        forgotten = list(forgotten)
        if self._explanations or self._judgements or forgotten:
            with self._warehouse.transaction() as connection:
                _require_same(connection, self._planned)
                if self._explanations:
                    write_explanations(connection, pl.DataFrame(self._explanations, schema=EXPLANATIONS.schema))
                if self._judgements:
                    rows = pl.DataFrame(self._judgements, schema=EXPLANATION_JUDGEMENTS.schema)
                    write_explanation_judgements(connection, rows)
                for explanation_id, prompts in forgotten:
                    forget_judgements(connection, explanation_id, self._planned.language_model, prompts)
            self._explanations, self._judgements = [], []
        self._since = time.monotonic()


def _require_same(connection: duckdb.DuckDBPyConnection, planned: ExplanationPlan) -> None:
    """Refuse to write of a model that went while the endpoint was asked: its number may be another's by now."""
    model = planned.known_model
    assert model is not None
    query = "select 1 from store.models where model_id = $model_id and name = $name and weights_sha256 = $sha256"
    values = {"model_id": model.model_id, "name": model.name, "sha256": model.weights_sha256}
    if not records(connection, query, values):
        raise NotFound(f"{model.name} was removed meanwhile", "measure it again", what="model", name=model.name)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def send_calls(warehouse: Warehouse, planned: ExplanationPlan, *, progress: Progress | None = None) -> CallsOutcome:
    """Send what a plan says, and store every answer; what the endpoint does not answer is a missing value.

    Raises:
        Unavailable: it answers nothing at all; then nothing is stored.
    """
    assert planned.endpoint is not None
    progress = progress or Silent()
    warehouse.require_writable()
    with warehouse.current_reader() as connection:
        model_id = planned.known_model.model_id if planned.known_model else -1
        answered = frozenset() if planned.force else answered_by(connection, model_id, planned.language_model)
    rows = _Rows(warehouse, planned)
    progress.start("explaining", planned.n_calls)
    forgotten: list[tuple[str, list[str]]] = []
    with Session(planned.endpoint) as session:
        calls = _Calls(session, planned.endpoint, progress)
        try:
            calls.send(_held(rows, calls, _explaining(planned, rows)))
            calls.send(_held(rows, calls, _judging(planned, rows, answered, forgotten)))
        finally:
            if calls.n_answered or not calls.n_sent:
                # Questions of a run that was cut short may be about texts that the next one has.
                rows.flush(() if calls.stopped else forgotten)
            calls.leave()
        calls.require_any()
    progress.finish()
    return calls.outcome()


def _held(rows: _Rows, calls: _Calls, planned: Iterator[_Call]) -> Iterator[_Call]:
    """The calls; rows are stored from the first answer on."""
    for call in planned:
        rows.is_held = not calls.n_answered
        yield call


def _explaining(planned: ExplanationPlan, rows: _Rows) -> Iterator[_Call]:
    """Calls for the texts that are not known."""
    for work in planned.works:
        if work.text is None:
            yield _Call(work.prompt, explanation_of, _take_text(work, rows))
        elif work.explanation_id is None:
            work.explanation_id = rows.explanation(work, NEURON, work.text, work.explainer, None)
        if work.made_up is None:
            yield _Call(work.made_up_prompt, explanation_of, _take_made_up(planned, work, rows))


def _take_text(work: Work, rows: _Rows) -> Callable[[str | Failure], None]:
    def take(text: str | Failure) -> None:
        if not isinstance(text, Failure):
            work.text = text
            work.explanation_id = rows.explanation(work, NEURON, text, work.explainer, work.prompt)

    return take


def _take_made_up(planned: ExplanationPlan, work: Work, rows: _Rows) -> Callable[[str | Failure], None]:
    def take(text: str | Failure) -> None:
        if not isinstance(text, Failure):
            work.made_up = text
            rows.explanation(work, MADE_UP, text, planned.language_model, work.made_up_prompt)

    return take


def _judging(
    planned: ExplanationPlan,
    rows: _Rows,
    answered: frozenset[tuple[str, str, str]],
    forgotten: list[tuple[str, list[str]]],
) -> Iterator[_Call]:
    """Calls for judgements, and of each explanation the fingerprints of all its questions."""
    for work in planned.works:
        if work.explanation_id is None:
            continue
        prompts = []
        for condition in JUDGED_CONDITIONS:
            text = text_of(planned, work, condition)
            for question in () if text is None else questions_of(planned, work, condition, text):
                prompt = fingerprint(planned.language_model, question.messages)
                prompts.append(prompt)
                if (work.explanation_id, condition, prompt) not in answered:
                    yield _Call(question.messages, question.read, _take_judgements(work, question, rows))
        forgotten.append((work.explanation_id, prompts))


def _take_judgements(work: Work, question: JudgeCall, rows: _Rows) -> Callable[[Any], None]:
    def take(outcome: tuple[list[bool], list[bool]] | Failure) -> None:
        if not isinstance(outcome, Failure):
            rows.judgements(work, question, *outcome)
        elif outcome.why != _NOT_SENT:
            nothing: list[bool | None] = [None] * len(question.examples)
            rows.judgements(work, question, nothing, nothing)

    return take
