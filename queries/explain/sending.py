"""The calls of a plan: sent one by one, answers kept, and what the endpoint does not answer counted as missing."""

import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.problems import Busy, NotFound
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
from neurothek.queries.explain.endpoint import Endpoint, Failure, Messages
from neurothek.queries.explain.judge_calls import (
    JudgeCall,
    explanation_of,
    fingerprint,
)
from neurothek.queries.explain.plans import JUDGED_CONDITIONS, ExplanationPlan, Work, answered_by, questions_of, text_of

MOST_FAILURES = 5
"""Calls in a row that an endpoint may fail before it is asked no more."""

_FLUSH_SECONDS = 5.0


@dataclass(frozen=True)
class CallsOutcome:
    """What became of the calls of a plan.

    Attributes:
        n_sent: calls that were sent.
        failures: why a call brought no answer -> how many calls; those that were not sent any more among them.
        stopped: why no more calls were sent; empty if all were.
    """

    n_sent: int
    failures: Mapping[str, int]
    stopped: str = ""

    def sentences(self) -> list[str]:
        """Failures in words, if there are any."""
        lines = []
        if self.failures:
            counted = ", ".join(f"{n:,} x {why}" for why, n in self.failures.items())
            lines.append(f"{sum(self.failures.values()):,} calls without an answer are missing values: {counted}")
        if self.stopped:
            lines.append(f"stopped: {self.stopped}; what was answered is kept, so repeat the command to continue")
        return lines


class _Asking:
    """Sends calls as long as the endpoint answers, and counts those that it does not."""

    def __init__(self, endpoint: Endpoint, progress: Progress) -> None:
        self._endpoint, self._progress = endpoint, progress
        self.n_sent, self.n_in_a_row = 0, 0
        self.failures: Counter[str] = Counter()
        self.stopped = ""

    def answer(self, messages: Messages) -> str | Failure:
        """The answer to one call, or why there is none."""
        if self.stopped:
            return self.missing(Failure("not sent"))
        self.n_sent += 1
        answer = self._endpoint.answer(messages)
        self._progress.advance()
        if not isinstance(answer, Failure):
            self.n_in_a_row = 0
            return answer
        self.n_in_a_row += 1
        if answer.is_final:
            self.stopped = f"the endpoint answers with {answer.why}"
        elif self.n_in_a_row >= MOST_FAILURES:
            self.stopped = f"the endpoint failed {MOST_FAILURES} times in a row, the last time with: {answer.why}"
        return self.missing(answer)

    def missing(self, failure: Failure) -> Failure:
        """Count a call without an answer."""
        self.failures[failure.why] += 1
        return failure


class _Rows:
    """Answers that wait to be stored: every few seconds, and whatever ends the run."""

    def __init__(self, warehouse: Warehouse, planned: ExplanationPlan) -> None:
        self._warehouse, self._planned = warehouse, planned
        self._explanations: list[dict[str, Any]] = []
        self._judgements: list[dict[str, Any]] = []
        self._since = time.monotonic()

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
        if time.monotonic() - self._since >= _FLUSH_SECONDS:
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
    """Send what a plan says, and store every answer; what the endpoint does not answer is a missing value."""
    assert planned.endpoint is not None
    progress = progress or Silent()
    warehouse.require_writable()
    with warehouse.current_reader() as connection:
        model_id = planned.known_model.model_id if planned.known_model else -1
        answered = frozenset() if planned.force else answered_by(connection, model_id, planned.language_model)
    rows, asking = _Rows(warehouse, planned), _Asking(planned.endpoint, progress)
    progress.start("explaining", planned.n_calls)
    forgotten: list[tuple[str, list[str]]] = []
    try:
        for work in planned.works:
            _explain(planned, work, asking, rows)
        for work in planned.works:
            if work.explanation_id is not None:
                prompts = list(_judge(planned, work, asking, rows, answered))
                # Questions of a run that was cut short may be about texts that the next one has.
                if not asking.stopped:
                    forgotten.append((work.explanation_id, prompts))
    finally:
        rows.flush(forgotten)
    progress.finish()
    return CallsOutcome(asking.n_sent, dict(asking.failures.most_common()), asking.stopped)


def _explain(planned: ExplanationPlan, work: Work, asking: _Asking, rows: _Rows) -> None:
    if work.text is None:
        text = _explanation(asking, work.prompt)
        if text is not None:
            work.text = text
            work.explanation_id = rows.explanation(work, NEURON, text, work.explainer, work.prompt)
    elif work.explanation_id is None:
        work.explanation_id = rows.explanation(work, NEURON, work.text, work.explainer, None)
    if work.made_up is None:
        work.made_up = _explanation(asking, work.made_up_prompt)
        if work.made_up is not None:
            rows.explanation(work, MADE_UP, work.made_up, planned.language_model, work.made_up_prompt)


def _explanation(asking: _Asking, prompt: Messages) -> str | None:
    answer = asking.answer(prompt)
    text = answer if isinstance(answer, Failure) else explanation_of(answer)
    if isinstance(text, Failure):
        if not isinstance(answer, Failure):
            asking.missing(text)
        return None
    return text


def _judge(
    planned: ExplanationPlan,
    work: Work,
    asking: _Asking,
    rows: _Rows,
    answered: frozenset[tuple[str, str, str]],
) -> Iterator[str]:
    """Ask all questions about one neuron; yields the fingerprint of each."""
    for condition in JUDGED_CONDITIONS:
        text = text_of(planned, work, condition)
        if text is None:
            continue
        for question in questions_of(planned, work, condition, text):
            prompt = fingerprint(planned.language_model, question.messages)
            yield prompt
            if (work.explanation_id, condition, prompt) in answered:
                continue
            answer = asking.answer(question.messages)
            if asking.stopped and isinstance(answer, Failure) and answer.why == "not sent":
                continue
            outcome = answer if isinstance(answer, Failure) else question.read(answer)
            if isinstance(outcome, Failure):
                if not isinstance(answer, Failure):
                    asking.missing(outcome)
                nothing: list[bool | None] = [None] * len(question.examples)
                rows.judgements(work, question, nothing, nothing)
            else:
                rows.judgements(work, question, *outcome)
