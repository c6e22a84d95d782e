"""Neurons in words: explanations by a language model behind an endpoint, scored beside controls."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.catalog.arguments import bad_argument, expanded, require, validated
from neurothek.catalog.problems import Invalid
from neurothek.catalog.progress import Progress

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.queries.explain.pages import Explained
    from neurothek.queries.explain.plans import Brought, ExplanationPlan


@validated
def plan_explanations(
    base: "Neurothek",
    model: str,
    *,
    endpoint: str,
    model_name: str,
    where: str | None = None,
    neurons: Sequence[str] | None = None,
    scores_only: str | Path | Iterable[Mapping[str, Any]] | None = None,
    key_variable: str = "OPENAI_API_KEY",
    allow_http: bool = False,
    answer_tokens: int = 200,
    timeout: float = 120.0,
    parallel: int = 4,
    seed: int = 0,
    force: bool = False,
) -> "ExplanationPlan":
    """Choose neurons of a model and prepare what an endpoint is asked about them, without sending anything.

    Args:
        model: name of the model.
        endpoint: URL of an OpenAI-compatible server, such as "http://localhost:8000/v1"; /v1 may be left out.
        model_name: the language model that explains and judges, by the name that the endpoint knows.
        where: a condition on the view `neurons` that they meet.
        neurons: their addresses.
        scores_only: explanations that people bring, to be scored alone: a file of JSON lines, or dicts, with the
            fields address, text, explainer and, if it is not that of the largest |m|, pole.
        key_variable: the environment variable that holds the key; no key is sent where it is not set.
        allow_http: whether other machines than this one may be asked without encryption.
        answer_tokens: most tokens of an answer; more for language models that think first.
        timeout: seconds for one whole answer.
        parallel: calls under way at a time, at most 256; the answers are kept in the same order whatever it is.
        seed: seed of all draws.
        force: whether to ask again for what the warehouse keeps.

    Raises:
        Invalid: the neurons are chosen in no way or in several, or the endpoint is not a URL.
        Refused: contexts would be sent to another machine without encryption.
        NotFound: there are no such neurons, or none of them is ever active.
        NotMeasured: contexts of the model were not measured.

    Example:
        >>> planned = warehouse.plan_explanations(
        ...     "mini-opt-0.7m", endpoint="http://localhost:8000/v1", model_name="any", where="layer = 1 and neuron < 2"
        ... )
        >>> planned.n_explanations
        4
    """
    from neurothek.queries.explain.endpoint import MOST_PARALLEL, open_endpoint
    from neurothek.queries.explain.plans import plan, read_brought
    from neurothek.queries.search.chosen import neurons_named, neurons_where

    ways = {"where": where, "neurons": neurons, "scores_only": scores_only}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        raise Invalid(
            f"neurons are chosen in several ways: {', '.join(given)}" if given else "no neurons are chosen",
            "choose neurons in one way: give where, neurons or scores_only",
            option="where",
            value=given or None,
        )
    for option, value, least, most in (
        ("answer_tokens", answer_tokens, 1, 100_000),
        ("timeout", timeout, 0.01, 3_600),
        ("parallel", parallel, 1, MOST_PARALLEL),
        ("seed", seed, 0, 2**63 - 1),
    ):
        if not least <= value <= most:
            raise bad_argument(option, value, f"give {least:,} to {most:,}")
    opened = open_endpoint(
        endpoint,
        model_name,
        key_variable=key_variable,
        allow_http=allow_http,
        timeout_seconds=timeout,
        answer_tokens=answer_tokens,
        parallel=parallel,
    )
    with base.reader() as connection:
        places: Sequence[tuple[int, int]] = ()
        brought: Sequence[Brought] = ()
        if where is not None:
            places = neurons_where(connection, model, where)
        elif neurons is not None:
            places = neurons_named(connection, model, neurons)
        elif scores_only is not None:
            lines = expanded(scores_only) if isinstance(scores_only, str | Path) else scores_only
            brought = read_brought(connection, model, lines)
        return plan(connection, model, opened, neurons=places, brought=brought, seed=seed, force=force)


@validated
def explain_neurons(base: "Neurothek", planned: "ExplanationPlan", *, progress: Progress | None = None) -> "Explained":
    """Ask an endpoint what neurons respond to, score its explanations beside controls, and keep all of it.

    What the endpoint does not answer is a missing value; repeat the call to ask for it again.

    Args:
        planned: a plan that `plan_explanations` returned.
        progress: receives progress reports.

    Returns:
        An answer with the polars frames `explanations` and `scores`; `notes` say what failed.

    Raises:
        Unavailable: the endpoint answers nothing at all; then nothing is stored.
        NeurothekError: the warehouse cannot be written, or the model was removed meanwhile.

    Example:
        >>> planned = warehouse.plan_explanations(
        ...     "mini-opt-0.7m", endpoint="http://localhost:9", model_name="any", neurons=["mini-opt-0.7m/L1N3"]
        ... )
        >>> try:
        ...     warehouse.explain_neurons(planned)
        ... except neurothek.NeurothekError as error:  # nobody answers there
        ...     print(error.hint)
        start the server, or correct the host and port of --endpoint
    """
    from neurothek.queries.explain.pages import explanations_page
    from neurothek.queries.explain.plans import ExplanationPlan
    from neurothek.queries.explain.sending import send_calls

    require(ExplanationPlan, planned=planned)
    outcome = send_calls(base.warehouse, planned, progress=progress)
    with base.reader() as connection:
        return explanations_page(
            connection,
            f"{planned.model} explained by {', '.join(planned.explainers)}",
            [planned.model],
            addresses=planned.addresses,
            explainers=planned.explainers,
            judge=planned.language_model,
            notes=outcome.sentences(),
            is_stopped=bool(outcome.stopped),
        )


@validated
def explained(base: "Neurothek", *words: str, model: str | Sequence[str] = (), limit: int = 20) -> "Explained":
    """Explanations that hold all of some words, whatever their case; those that beat their controls most first.

    Args:
        words: words or parts of words; none: all explanations.
        model: names of models; none: all.
        limit: how many the answer's table shows.

    Raises:
        NotFound: there is no such model.

    Example:
        >>> warehouse.explained("month").explanations.height
        0
    """
    from neurothek.queries.explain.pages import explanations_page

    if limit < 1:
        raise bad_argument("limit", limit, "give 1 or more")
    title = f"explained with {' and '.join(words)}" if words else "explained"
    with base.reader() as connection:
        return explanations_page(
            connection, title, (model,) if isinstance(model, str) else model, words=words, limit=limit
        )
