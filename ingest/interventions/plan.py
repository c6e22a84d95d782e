"""The plan of an intervention, in words and as a request: put together before anything is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite

from neurothek.catalog.arguments import bad_argument
from neurothek.catalog.problems import Invalid
from neurothek.ingest.interventions.positions import parse_positions
from neurothek.ingest.request import How, IngestRequest, Intervention, ModelSource, Moment, Steering, TextRequest

Neurons = tuple[tuple[int, int], ...]

_LONGEST_NAME = 120

_LARGEST_VALUE = 1_000_000
"""Beyond what any model has; larger ones would overflow in its norms."""


@dataclass(frozen=True)
class Operation:
    """The operation on neurons: what their activations become."""

    how: How  # whether they are set to a value, multiplied by one, or set to their means over the corpus
    value: float | None  # that value; None for means
    moment: Moment  # whether it happens before the non-linearity or after it
    positions: str | None = None  # at which positions, such as 0-7; None: at all

    @classmethod
    def parse(cls, text: str, *, pre: bool = False, at: str | None = None) -> "Operation":
        """`3`, `mean` or `x0.5`, after the non-linearity or before it, at all positions or some."""
        moment: Moment = "before" if pre else "after"
        if at is not None and parse_positions(at) is None:
            raise bad_argument("at", at, "give a position as 3, several as 0-7, or all from one on as 5-")
        positions = None if at is None else at.strip()
        written = text.strip().lower()
        if written == "mean":
            if pre:
                raise _invalid_value(text, "the mean is that of activations, after the non-linearity")
            return cls("mean", None, moment, positions)
        try:
            # The same number, whichever zero was meant.
            value = float(written.removeprefix("x")) + 0.0
        except ValueError as error:
            raise _invalid_value(text, "that is not a number") from error
        if not isfinite(value):
            raise _invalid_value(text, "that is not a finite number")
        if abs(value) > _LARGEST_VALUE:
            raise _invalid_value(text, f"activations are at most {_LARGEST_VALUE:,} here")
        return cls("scale" if written.startswith("x") else "set", value, moment, positions)

    def description(self) -> str:
        """In words."""
        when = ", before the non-linearity" if self.moment == "before" else ""
        when += "" if self.positions is None else f", at positions {self.positions}"
        if self.how == "mean":
            return f"set to their means over the corpus{when}"
        number = f"{self.value:g}"
        return f"multiplied by {number}{when}" if self.how == "scale" else f"set to {number}{when}"


@dataclass(frozen=True)
class InterventionPlan:
    """Interventions on one model, ready to be measured.

    Attributes:
        model: name of the model.
        request: what is measured.
        source: where its weights are.
        n_neurons: how many neurons the model has.
        corpus: name of the corpus that is read.
        asked_corpus: the corpus that was asked for; None: the shown one.
        hours: how long it would take; None where that was not estimated.
        notes: what else is to be known of how the neurons were chosen, a sentence each.
    """

    model: str
    request: IngestRequest
    source: ModelSource
    n_neurons: int
    corpus: str
    asked_corpus: str | None = None
    hours: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_one_by_one(self) -> bool:
        """Whether neurons are turned off one by one."""
        return bool(self.request.single_neurons)

    @property
    def names(self) -> tuple[str, ...]:
        """What the interventions are called."""
        return tuple(one.name for one in self.request.interventions)

    def sentences(self) -> list[str]:
        """What is changed, and what that is compared with, a sentence each."""
        request = self.request
        read = f"measured on {self.corpus}, reading sequences until {request.intervention_tokens:,} ids of each domain"
        if self.is_one_by_one:
            n = len(request.single_neurons)
            neurons = f"{n:,} of the {self.n_neurons:,} neurons of {self.model} are turned off one by one"
            beside = f"{read}, beside up to 20 random ones of each layer"
            return [neurons, beside, *([] if self.hours is None else [f"about {_duration(self.hours)}"]), *self.notes]
        asked_for = [
            f"{one.name}: {len(one.neurons):,} of the {self.n_neurons:,} neurons of {self.model}{_told_poles(one)}"
            for one in request.interventions
        ]
        n_sets = request.random_sets
        sets = f"{n_sets} random {'set' if n_sets == 1 else 'sets'} of as many neurons"
        return [*asked_for, f"{read}, beside {sets}", *self._continued(sets), *self.notes]

    def _continued(self, sets: str) -> list[str]:
        """What is written, and what scores it."""
        steering = self.request.steering
        if steering is None:
            return []
        how = "the most probable" if steering.temperature == 0 else f"drawn (temperature {steering.temperature:g})"
        n = len(steering.prompts)
        return [
            f"{n:,} {'prompt' if n == 1 else 'prompts'} continued by up to {steering.length} tokens, {how}, beside"
            f" {sets}, a filter of {len(steering.banned)} words and self-debiasing against {steering.unwanted}",
            f"scored by {', '.join(steering.scorers)}",
        ]


def _told_poles(one: Intervention) -> str:
    if not one.negative or one.value is None:
        return ""
    return f", {len(one.negative):,} of them set to {-one.value:g}: they promote the words at their negative pole"


def _duration(hours: float) -> str:
    seconds = hours * 3600
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} minutes" if hours < 2 else f"{hours:.1f} hours"


def interventions(
    chosen: Mapping[str, Neurons],
    operation: Operation,
    *,
    name: str | None,
    of_kinds: bool,
    watched: tuple[int, ...] = (),
    poles: Mapping[tuple[int, int], str | None] | None = None,
) -> list[Intervention]:
    """One intervention for each set of neurons, by how they were chosen.

    Args:
        chosen: in words -> the neurons.
        operation: what becomes of them.
        name: what the only one is called; None: what was asked.
        of_kinds: whether the words are names of kinds.
        watched: ids of tokens whose probability is asked for.
        poles: the pole at which each does what was asked, where it is known.
    """
    negative = None
    if operation.how == "set" and operation.value and poles and any(poles.values()):
        chosen = {f"{selection} at either pole": neurons for selection, neurons in chosen.items()}
        negative = tuple(sorted(neuron for neuron, pole in poles.items() if pole == "negative"))
    return [
        Intervention(
            name=_called(selection, operation) if name is None else name,
            neurons=neurons,
            asked=selection,
            how=operation.how,
            value=operation.value,
            moment=operation.moment,
            kind=selection if of_kinds else None,
            watched=watched,
            positions=operation.positions,
            negative=negative,
        )
        for selection, neurons in chosen.items()
    ]


def _called(selection: str, operation: Operation) -> str:
    """What was asked, cut where it is long, with what tells it from others that begin alike."""
    whole = "".join(letter if letter.isprintable() else " " for letter in f"{selection} {operation.description()}")
    if len(whole) <= _LONGEST_NAME:
        return whole
    digest = sha256(whole.encode()).hexdigest()[:8]
    return f"{whole[:60]}… {operation.description()} ({digest})"


def _invalid_value(text: str, reason: str) -> Invalid:
    """Neurons cannot be changed so."""
    return Invalid(
        f"neurons cannot be set to {text!r}: {reason}",
        "give a number such as 0 or 3, mean, or x0.5 to scale",
        option="--set",
        value=text,
    )


def require_one_way(given: Sequence[str]) -> None:
    """Refuse neurons that are chosen in no way, or in several."""
    if len(given) != 1:
        problem = f"not in several ({' and '.join(given)})" if given else "but none was given"
        raise Invalid(
            f"the neurons must be chosen in exactly one way, {problem}: give where, search (words), neurons,"
            " contrast or each",
            option="where",
            value=list(given),
        )


def require_title(name: str, *, option: str = "name") -> None:
    """Refuse what nobody could type or read as the name of an intervention, or of a contrast."""
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise bad_argument(option, name, f"give one line of 1 to {_LONGEST_NAME} printable characters")


def request_for(
    made: Sequence[Intervention],
    *,
    corpus_id: int,
    tokens: int,
    n_sets: int,
    force: bool,
    steering: Steering | None = None,
    has_texts: bool = False,
    alone: bool = False,
) -> IngestRequest:
    """The request that measures them on a corpus of the warehouse.

    Args:
        made: what is changed.
        corpus_id: the corpus.
        tokens: ids of each domain to read.
        n_sets: random sets to compare with.
        force: whether what the warehouse has of a name may be replaced.
        steering: what the changed model continues; None: nothing.
        has_texts: whether the warehouse has texts of the model, which have to follow what is changed under their names.
        alone: whether each neuron is turned off alone instead.
    """
    text = TextRequest(corpus_id=corpus_id)
    if not alone:
        writes = steering is not None or has_texts
        jobs = ("interventions", "continuations") if writes else ("interventions",)
        return IngestRequest(
            jobs=jobs,
            named=jobs,
            text=text,
            interventions=tuple(made),
            intervention_tokens=tokens,
            random_sets=n_sets,
            steering=steering,
            force=force,
        )
    if any((one.how, one.value, one.moment, one.positions) != ("set", 0.0, "after", None) for one in made):
        raise bad_argument("one_by_one", alone, "leave set, pre and at out", why="neurons are turned off one by one")
    if steering is not None:
        raise bad_argument(
            "one_by_one", alone, "leave one out", why="prompts are continued with neurons changed together"
        )
    return IngestRequest(
        jobs=("neuron_effects",),
        named=("neuron_effects",),
        text=text,
        intervention_tokens=tokens,
        single_neurons=tuple(sorted({neuron for one in made for neuron in one.neurons})),
        force=force,
    )
