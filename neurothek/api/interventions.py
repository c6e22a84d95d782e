"""Interventions on a model's neurons: planned, then measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from neurothek.api.answers import weights_at_hand
from neurothek.catalog.arguments import bad_argument, expanded, require, validated
from neurothek.catalog.progress import Progress
from neurothek.queries.errors.unfit_options import not_measured

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.ingest.interventions.plan import InterventionPlan
    from neurothek.queries.steering.effects import Effects


@validated
def plan_intervention(
    base: "Neurothek",
    model: str,
    *,
    where: str | None = None,
    words: str | Sequence[str] = (),
    limit: int | None = None,
    neurons: str | Path | Sequence[str] | None = None,
    each: Literal["kind"] | None = None,
    contrast: str | None = None,
    top: int | None = None,
    set: str | float = 0,  # noqa: A002 - as the command calls it
    pre: bool = False,
    at: str | None = None,
    name: str | None = None,
    corpus: str | None = None,
    tokens: int = 8_192,
    sets: int | None = None,
    force: bool = False,
    weights: str | Path | None = None,
    watch: str | Sequence[str] = (),
    prompts: str | Path | Sequence[str] | None = None,
    continuation: int | None = None,
    score: str | Sequence[str] = (),
    temperature: float | None = None,
    seed: int | None = None,
    unwanted: str | None = None,
    banned: str | Path | Sequence[str] | None = None,
    described: str | None = None,
    one_by_one: bool = False,
) -> "InterventionPlan":
    """Choose neurons of a model and how to change them, without measuring anything.

    Args:
        model: name of the model.
        where: a condition on the view `neurons` that they meet.
        words: words that they promote.
        limit: number of neurons for `words`; None: 10.
        neurons: their addresses, or a file with one per line.
        each: "kind" for each kind of neurons, one at a time.
        contrast: a contrast that the warehouse keeps: the neurons that tell its prompts apart most.
        top: number of neurons for `contrast`; None: 50.
        set: 0, another number, "mean", or "x0.5" to scale. In a gated model a number is the coefficient at the pole
            at which a neuron promotes `words`: 3 sets it to -3 if that is the negative pole.
        pre: set them before the non-linearity instead of after it.
        at: positions at which they are changed, such as "0-7" or "5-", from 0, a BOS counted; None: all.
        name: name of the intervention; None: made from the arguments.
        corpus: name of the corpus to measure on; None: the shown one.
        tokens: token ids of each domain to read.
        sets: random sets of as many neurons to compare with; None: 20.
        force: replace an intervention of this name.
        weights: folder of the weights, if they have moved.
        watch: words whose probability is measured; none: those of `words`.
        prompts: texts that the changed model continues, or a file of them; None: none.
        continuation: most tokens to write after each prompt; None: 20.
        score: what scores the continuations, such as "domains", "words:FILE" or "hf:REPO"; none: "domains".
        temperature: 0, or None, for the most probable tokens, else what logits are divided by before a token is
            drawn.
        seed: seed of the draws; None: 0.
        unwanted: the scored attribute that the word filter and self-debiasing work against.
        banned: words for the word filter, or a file of them; None: those of the scorer.
        described: the unwanted attribute in words, for self-debiasing; None: its name.
        one_by_one: turn each neuron off alone instead of all together.

    Raises:
        Invalid: the neurons are chosen in no way or in several, or the change, prompts or scorers are invalid.
        NotFound: there are no such neurons.

    Example:
        >>> planned = warehouse.plan_intervention("mini-opt-0.7m", where="layer = 0 and neuron < 3")
        >>> planned.names
        ('where layer = 0 and neuron < 3 set to 0',)
    """
    from neurothek.ingest.interventions.plan import (
        InterventionPlan,
        Operation,
        interventions,
        request_for,
        require_one_way,
        require_title,
    )
    from neurothek.ingest.request import DEFAULT_CONTINUATION, DEFAULT_RANDOM_SETS, ModelSource
    from neurothek.queries.names.models import choose_corpora, choose_model
    from neurothek.queries.search.chosen import neurons_asked, notes_on_kinds, watched_tokens
    from neurothek.queries.search.condition import condition_notes
    from neurothek.queries.steering.effects import has_continuations
    from neurothek.queries.views.on_corpus import on_corpus

    words, watch, score = ((one,) if isinstance(one, str) else tuple(one) for one in (words, watch, score))
    ways = {"where": where, "words": words, "neurons": neurons, "each": each, "contrast": contrast}
    require_one_way([way for way, value in ways.items() if value is not None and value != ()])
    _require_numbers(
        tokens=tokens, sets=sets, limit=limit, top=top, continuation=continuation, temperature=temperature, seed=seed
    )
    if name is not None:
        require_title(name)
        if each is not None:
            raise bad_argument("name", name, "leave it out", why="each kind has a name of its own")
    way = Operation.parse(str(set), pre=pre, at=at)
    if prompts is None:
        writing = {"continuation": continuation, "temperature": temperature, "seed": seed}
        scoring = {"score": score, "unwanted": unwanted, "banned": banned, "described": described}
        _refuse("it is about what is written after prompts", **writing, **scoring)
    if one_by_one:
        _refuse("single neurons are kept under their addresses", name=name, watch=watch, sets=sets)
    if not words:
        _refuse("it is about neurons that promote words", limit=limit)
    if contrast is None:
        _refuse("it is about the neurons of a contrast", top=top)
    steering = None
    if prompts is not None:
        from neurothek.ingest.interventions.steering import read_steering

        steering = read_steering(
            prompts,
            score=score,
            length=continuation or DEFAULT_CONTINUATION,
            temperature=temperature or 0.0,
            seed=seed or 0,
            unwanted=unwanted,
            banned=banned,
            described=described,
        )
    addresses = None if neurons is None else _addresses(neurons)
    with base.reader() as reader, on_corpus(reader, [model], corpus) as connection:
        model_row = choose_model(connection, model)
        read = choose_corpora(connection, [model], corpus).get(model)
        if read is None:
            from neurothek.ingest.jobs import registry
            from neurothek.ingest.models.measured import require_causal

            require_causal(base.warehouse, model, "interventions", possible=registry.OF_MASKED)
            raise not_measured("frequencies", "activity")
        chosen, poles = neurons_asked(
            connection,
            model,
            where=where,
            words=words,
            limit=limit or 10,
            addresses=addresses,
            contrast=contrast,
            top=top or 50,
            weights=weights_at_hand,
        )
        watched = watched_tokens(connection, model, watch or words, leaves_split_out=not watch)
        has_texts = has_continuations(connection, model_row.model_id, read.corpus_id)
    source = ModelSource(model) if weights is None else ModelSource(str(weights), model)
    made = interventions(chosen, way, name=name, of_kinds=each is not None, watched=watched, poles=poles)
    request = request_for(
        made,
        corpus_id=read.corpus_id,
        tokens=tokens,
        n_sets=sets or DEFAULT_RANDOM_SETS,
        force=force,
        steering=steering,
        has_texts=has_texts,
        alone=one_by_one,
    )
    notes = tuple(notes_on_kinds(model_row, chosen) if each else condition_notes(where, [model_row]))
    planned = InterventionPlan(
        model, request, source, model_row.n_layers * model_row.d_ffn, read.corpus, corpus, notes=notes
    )
    if not one_by_one:
        return planned
    from neurothek.ingest.pipeline.neuron_hours import planned_with_hours

    return planned_with_hours(base.warehouse, planned)


@validated
def run_intervention(base: "Neurothek", planned: "InterventionPlan", *, progress: Progress | None = None) -> "Effects":
    """Measure planned interventions, store their effects, and return them.

    If neurons are turned off one by one, the effects are those of each neuron.

    Args:
        planned: a plan that `plan_intervention` returned.
        progress: receives progress reports.

    Raises:
        NeurothekError: the model cannot be measured in this way; finished work is kept for the next attempt.

    Example:
        >>> planned = warehouse.plan_intervention("mini-opt-0.7m", where="layer = 0 and neuron < 3", sets=3)
        >>> warehouse.run_intervention(planned).interventions["n_sets"].to_list()
        [3]
    """
    from neurothek.ingest.interventions.plan import InterventionPlan
    from neurothek.ingest.planning.first_look import measured_as, require_weights

    require(InterventionPlan, planned=planned)
    weights = None if planned.source.name is None else planned.source.source
    require_weights(measured_as(base.warehouse, planned.model), weights=weights)
    from neurothek.ingest.pipeline.ingest_model import ingest_model
    from neurothek.queries.steering.effects import effects_of
    from neurothek.queries.views.on_corpus import on_corpus

    ingest_model(base.warehouse, planned.request, planned.source, progress=progress)
    with base.reader() as reader, on_corpus(reader, [planned.model], planned.asked_corpus) as connection:
        return effects_of(connection, planned.model, planned.names, planned.request.single_neurons)


def _require_numbers(**given: float | None) -> None:
    """Refuse numbers out of range."""
    for option, value in given.items():
        least, most = _RANGES[option]
        if value is not None and not least <= value <= most:
            raise bad_argument(option, value, f"give {least:,} to {most:,}")
    if 0 < (given["temperature"] or 0) < _LEAST_TEMPERATURE:
        raise bad_argument("temperature", given["temperature"], f"give 0, or {_LEAST_TEMPERATURE} or more")


_LEAST_TEMPERATURE = 0.001


def _refuse(reason: str, **given: object) -> None:
    """Refuse what would have no effect."""
    for option, value in given.items():
        if value is not None and value != ():
            raise bad_argument(option, value, "leave it out", why=reason)


_RANGES = {
    "tokens": (2, 10**12),
    "sets": (1, 1000),
    "limit": (1, 10**9),
    "top": (1, 10**9),
    "continuation": (1, 10**6),
    "temperature": (0, 1000),
    "seed": (0, 2**63 - 1),
}


def _addresses(neurons: str | Path | Sequence[str]) -> list[str]:
    """Addresses as they were given, one or several, or the lines of a file of them."""
    from neurothek.queries.names.models import is_address

    if not isinstance(neurons, str | Path):
        return list(neurons)
    if isinstance(neurons, str) and is_address(neurons):
        return [neurons]
    try:
        lines = expanded(neurons).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise bad_argument("neurons", str(neurons), why=f"that file cannot be read ({reason})") from error
    return [line.strip() for line in lines if line.strip()]
