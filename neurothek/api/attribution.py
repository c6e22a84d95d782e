"""Which neurons make a model predict one token and not another."""

from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.api.prompts import require_prompt
from neurothek.catalog.arguments import bad_argument, require, validated

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.catalog.tables.traces import AttributionOrder
    from neurothek.queries.trace.attribution import AttributionPage

_MOST_LISTED = 1000


@validated
def attribute(
    base: "Neurothek",
    model: str,
    prompt: str,
    *,
    toward: str | None = None,
    instead: str | None = None,
    position: int | None = None,
    top: int = 10,
    sort: "AttributionOrder" = "relevance",
    ablate: bool = False,
    corpus: str | None = None,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
) -> "AttributionPage":
    """Rank the neurons of all layers by their effect on the logit of one token less that of another.

    Args:
        model: name of the model.
        prompt: the text.
        toward: the token; None: the one that the model predicts.
        instead: the token whose logit is taken off; None: the mean logit of all tokens is.
        position: a position of the prompt, from 0, or below 0 from its end; None: the last one.
        top: how many neurons the table of the answer shows; `neurons` has 50 at least.
        sort: which effects are the largest: `relevance`, those by gradients through the layers above, at all positions;
            `direct`, what a neuron adds itself at the position.
        ablate: whether to switch the first 50 off one by one, and correlate both effects with what that does.
        corpus: name of the corpus that the facts about neurons come from; None: the shown one.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.

    Returns:
        An answer with the polars frame `neurons`.

    Raises:
        NeurothekError: there is no such model or token, its weights are not available, the prompt does not fit, or the
            model predicts no next token.

    Example:
        >>> page = warehouse.attribute("mini-opt-0.7m", "The river is near the", instead=" river")
        >>> page.neurons["relevance"].abs().is_sorted(descending=True)
        True
    """
    from neurothek.catalog.tables.traces import AttributionOrder

    require(AttributionOrder, sort=sort)
    if not 1 <= top <= _MOST_LISTED:
        raise bad_argument("top", top, f"give 1 to {_MOST_LISTED:,}")
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.queries.names.models import choose_corpora, choose_model
    from neurothek.queries.trace.attribution import attribution_page
    from neurothek.queries.trace.trace import token_of
    from neurothek.queries.views.on_corpus import on_corpus

    with base.reader() as connection:
        chosen = choose_model(connection, model)
        ids = [None if text is None else token_of(connection, chosen, text)[0] for text in (toward, instead)]
        if ids[0] is not None and ids[0] == ids[1]:
            raise bad_argument("instead", instead, "name another token, or leave it out", why="it is that of toward")
        # One that is not there is refused before the model runs.
        choose_corpora(connection, [model], corpus)
    require_prompt(prompt, position)
    require_weights(chosen, weights=weights, allow_pickle=allow_pickle)
    from neurothek.ingest.trace.attribution import N_ABLATED, attributed
    from neurothek.ingest.trace.open_models import OPEN_MODELS

    with OPEN_MODELS.model(chosen, weights=weights, allow_pickle=allow_pickle) as opened:
        result = attributed(
            *opened,
            prompt,
            position=position,
            toward=ids[0],
            instead=ids[1],
            limit=max(top, N_ABLATED),
            sort=sort,
            ablates=ablate,
        )
    with base.reader() as connection, on_corpus(connection, [model], corpus) as prepared:
        return attribution_page(prepared, chosen, result, sort=sort, top=top)
