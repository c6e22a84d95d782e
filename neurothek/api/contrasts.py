"""Two sets of prompts, and the neurons that tell them apart."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from neurothek.catalog.arguments import bad_argument, validated
from neurothek.catalog.progress import Progress, Silent
from neurothek.queries.errors.unfit_options import not_measured

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.ingest.request import PromptSet
    from neurothek.queries.trace.contrast import ContrastPage


@validated
def contrast(
    base: "Neurothek",
    model: str,
    a: str | Path | Sequence[str] | None = None,
    b: str | Path | Sequence[str] | None = None,
    *,
    at: Literal["last", "all"] | None = None,
    keep: str | None = None,
    top: int = 10,
    seed: int | None = None,
    corpus: str | None = None,
    force: bool = False,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
    progress: Progress | None = None,
) -> "ContrastPage":
    """Compare the activations of a model's neurons on two sets of prompts, beside shuffled labels.

    Args:
        model: name of the model.
        a: prompts of A: a file with one per line, or JSON lines; "builtin:code", "builtin:prose", "builtin:questions"
            or "builtin:statements"; or texts. None, with `keep`, for a contrast that the warehouse keeps.
        b: prompts of B, likewise.
        at: "last" or None for activations at the last own token of each prompt, "all" for their means over all of them.
        keep: name under which to keep it, prompts included, in the warehouse; None: it is not kept.
        top: how many neurons each table of the answer shows.
        seed: seed of the shuffles of the labels; None: 0.
        corpus: name of the corpus whose facts stand beside it; None: the shown one.
        force: replace a contrast of this name.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.
        progress: receives progress reports.

    Returns:
        An answer with the polars frame `neurons`, one row per neuron of the model.

    Raises:
        NeurothekError: there is no such model or contrast, its weights are not available, or prompts cannot be read, or
            do not fit the model.

    Example:
        >>> page = warehouse.contrast("mini-opt-0.7m", "builtin:questions", "builtin:statements")
        >>> page.neurons.filter("is_significant").height == page.contrast["n_significant"]
        True
    """
    _require_options(top=top, seed=seed, keep=keep)
    if (a is None) != (b is None):
        raise bad_argument("b" if b is None else "a", None, "give prompts of both, A and B")
    from neurothek.queries.names.models import choose_corpora, choose_model
    from neurothek.queries.trace.contrast import contrast_page, stored_contrast
    from neurothek.queries.views.on_corpus import on_corpus

    with base.reader() as connection:
        chosen = choose_model(connection, model)
        read = choose_corpora(connection, [model], corpus).get(model)
    if a is None or b is None:
        if keep is None:
            raise bad_argument("a", None, "give two sets of prompts, or keep, the name of a contrast that is kept")
        for option, value in (("at", at), ("seed", seed)):
            if value is not None:
                raise bad_argument(
                    option, value, "give prompts, or leave it out", why="what is kept was measured already"
                )
        with base.reader() as connection, on_corpus(connection, [model], corpus) as prepared:
            return stored_contrast(prepared, chosen, keep, top=top)
    if force and keep is None:
        raise bad_argument("force", force, "give keep, the name of what is to be replaced, or leave it out")
    if keep is not None and read is None:
        raise not_measured("frequencies, which say which neurons are always on", "activity", model=model)
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.ingest.request import Contrast, IngestRequest, ModelSource, TextRequest

    asked_for = Contrast(keep or "", _prompt_set("a", a), _prompt_set("b", b), at or "last", seed or 0)
    require_weights(chosen, weights=weights, allow_pickle=allow_pickle)
    if keep is None:
        from neurothek.ingest.jobs.contrasts.differences import N_SHUFFLES
        from neurothek.ingest.jobs.contrasts.job import measured_contrast
        from neurothek.ingest.trace.open_models import OPEN_MODELS

        with OPEN_MODELS.model(chosen, weights=weights, allow_pickle=allow_pickle) as opened:
            measured = measured_contrast(*opened, asked_for, progress=progress or Silent())
        described = {
            "prompts_a": asked_for.a.label,
            "prompts_b": asked_for.b.label,
            "positions": asked_for.positions,
            "n_shuffles": N_SHUFFLES,
            "seed": asked_for.seed,
            "n_distinct": len({*asked_for.a.prompts, *asked_for.b.prompts}),
        }
        with base.reader() as connection, on_corpus(connection, [model], corpus) as prepared:
            return contrast_page(prepared, chosen, described, measured, top=top)
    from neurothek.ingest.pipeline.ingest_model import ingest_model

    assert read is not None
    request = IngestRequest(
        jobs=("contrasts",),
        named=("contrasts",),
        text=TextRequest(corpus_id=read.corpus_id),
        contrasts=(asked_for,),
        allow_pickle=allow_pickle,
        force=force,
    )
    source = ModelSource(model) if weights is None else ModelSource(str(weights), model)
    ingest_model(base.warehouse, request, source, progress=progress)
    with base.reader() as connection, on_corpus(connection, [model], corpus) as prepared:
        return stored_contrast(prepared, chosen, keep, top=top)


def _require_options(*, top: int, seed: int | None, keep: str | None) -> None:
    """Refuse numbers out of their range, and a name that cannot be one.

    Raises:
        Invalid: one of them is.
    """
    if top < 1:
        raise bad_argument("top", top, "give 1 or more")
    if seed is not None and not 0 <= seed <= _LARGEST_SEED:
        raise bad_argument("seed", seed, f"give 0 to {_LARGEST_SEED:,}")
    if keep is not None:
        from neurothek.ingest.interventions.plan import require_title

        require_title(keep, option="keep")


def _prompt_set(option: str, given: str | Path | Sequence[str]) -> "PromptSet":
    """The prompts, and what they are called: the name of their file or set.

    Raises:
        Invalid: they cannot be read, or there are too few to be shuffled.
    """
    from neurothek.ingest.corpora.prompt_sets import read_prompts
    from neurothek.ingest.request import PromptSet

    prompts = read_prompts(option, given)
    if len(prompts) < _LEAST_PROMPTS:
        raise bad_argument(option, prompts[0], f"give {_LEAST_PROMPTS} or more", why="one prompt alone has no spread")
    if not isinstance(given, str | Path):
        return PromptSet("texts", prompts)
    if isinstance(given, str) and given.startswith("builtin:"):
        return PromptSet(given, prompts)
    # What a shell hands over in the place of a file has a number for a name.
    return PromptSet(Path(given).name if Path(given).is_file() else "pipe", prompts)


_LEAST_PROMPTS = 2

_LARGEST_SEED = 2**31 - 1
