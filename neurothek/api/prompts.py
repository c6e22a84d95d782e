"""Runs of a model on a prompt; its weights stay in memory for the next answer, those of several models up to 2 GiB."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.catalog.arguments import bad_argument, require, validated
from neurothek.ingest.errors import empty_prompt

if TYPE_CHECKING:
    import numpy as np

    from neurothek.api.warehouse import Neurothek
    from neurothek.catalog.store.matrices import StoredMatrix
    from neurothek.catalog.tables.traces import RaisingOrder
    from neurothek.queries.trace.grid import AlongPage, GridPage
    from neurothek.queries.trace.switch import SwitchPage, TogetherPage
    from neurothek.queries.trace.trace import Lens, TracePage


@validated
def trace(
    base: "Neurothek",
    model: str,
    prompt: str,
    *,
    position: int | None = None,
    top: int = 5,
    token: str | None = None,
    raising: int = 10,
    sort: "RaisingOrder" = "centred",
    effects: bool = False,
    lens: "Lens" = "id",
    corpus: str | None = None,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
) -> "TracePage":
    """Trace how a model builds its prediction at one position of a prompt.

    Args:
        model: name of the model.
        prompt: the text.
        position: a position of the prompt, from 0, or below 0 from its end; None: the last one.
        top: how many tokens to list before and after each FFN.
        token: a token whose rank to follow through the layers.
        raising: how many of the neurons of all layers that raise the token most, or the predicted one, to list.
        sort: the order of these: `centred`, what each adds to the token's score less the mean over all tokens;
            `score`, that mean included; `share`, of the layer's update; `direct`, what each adds to the token's logit
            through the final norm, whose divisor is held, less the mean over all tokens: neurons raise it by that then.
        effects: whether to switch each of the first ten off by itself and list what becomes of the token.
        lens: `id` reads the states as they are; `mat` reads them through the matrices to the last one too, as
            `shortcut` gives them.
        corpus: name of the corpus that the matrices and the facts about neurons come from; None: the shown one.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.

    Returns:
        An answer with the polars frames `layers`, `neurons`, `raising` and `states`.

    Raises:
        NeurothekError: there is no such model or token, its weights or matrices are not available, or the prompt
            does not fit.

    Example:
        >>> page = warehouse.trace("mini-opt-0.7m", "The river is near the", token=" sea")
        >>> page.layers["layer"].to_list() == list(range(page.layers.height))
        True
        >>> page.neurons.group_by("layer").len()["len"].unique().to_list()
        [10]
        >>> page.raising["centred"].is_sorted(descending=True)
        True
    """
    from neurothek.catalog.tables.traces import RaisingOrder
    from neurothek.queries.trace.trace import Lens

    require(Lens, lens=lens)
    require(RaisingOrder, sort=sort)
    if top < 1:
        raise bad_argument("top", top, "give 1 or more")
    if not 0 <= raising <= _MOST_RAISING:
        raise bad_argument("raising", raising, f"give 0 to {_MOST_RAISING:,}")
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.queries.names.models import choose_corpora, choose_model
    from neurothek.queries.trace.trace import lens_matrices, token_of, trace_page
    from neurothek.queries.views.on_corpus import on_corpus

    with base.reader() as connection:
        chosen = choose_model(connection, model)
        token_id, text = (None, None) if token is None else token_of(connection, chosen, token)
        stored = lens_matrices(connection, model, lens, corpus=corpus)
        # One that is not there is refused before the model runs.
        choose_corpora(connection, [model], corpus)
    matrices = _matrices(base, stored)
    require_prompt(prompt, position)
    require_weights(chosen, weights=weights, allow_pickle=allow_pickle)
    from neurothek.ingest.trace.open_models import OPEN_MODELS
    from neurothek.ingest.trace.trace import trace

    with OPEN_MODELS.model(chosen, weights=weights, allow_pickle=allow_pickle) as opened:
        traced = trace(
            *opened,
            prompt,
            position=position,
            top=top,
            token_id=token_id,
            matrices=matrices,
            n_raising=raising,
            sort=sort,
            effects=effects,
        )
    with base.reader() as connection, on_corpus(connection, [model], corpus) as prepared:
        return trace_page(prepared, chosen, traced, token=text)


def open_for_prompts(
    base: "Neurothek",
    model: str,
    *,
    tokens: Sequence[str] = (),
    weights: str | Path | None = None,
    allow_pickle: bool = False,
) -> None:
    """Open a model for the prompts that follow, so that what is wrong with what is asked is known before the first.

    Args:
        base: the warehouse.
        model: name of the model.
        tokens: texts of tokens that are asked about at each prompt.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.

    Raises:
        NeurothekError: there is no such model or token, or its weights are not available.
    """
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.queries.names.models import choose_model
    from neurothek.queries.trace.trace import token_of

    with base.reader() as connection:
        chosen = choose_model(connection, model)
        for text in tokens:
            token_of(connection, chosen, text)
    require_weights(chosen, weights=weights, allow_pickle=allow_pickle)
    from neurothek.ingest.trace.open_models import OPEN_MODELS

    with OPEN_MODELS.model(chosen, weights=weights, allow_pickle=allow_pickle):
        pass


@validated
def trace_grid(
    base: "Neurothek",
    model: str,
    prompt: str,
    *,
    top: int = 5,
    dominant: int = 0,
    most: int | None = 64,
    neuron: str | None = None,
    set: float = 0.0,  # noqa: A002 - as `switch` calls it
    lens: "Lens" = "id",
    corpus: str | None = None,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
) -> "GridPage":
    """Predictions of a model after each layer at each position of a prompt, from one forward pass.

    Args:
        model: name of the model.
        prompt: the text.
        top: how many tokens to list per cell.
        dominant: how many of the layer's largest contributions to list per cell.
        most: how many positions to read, from the end of the prompt; None: all.
        neuron: address of a neuron to set to a value, as by `switch`; None: none.
        set: value to set it to, at every position; 0 turns it off.
        lens: how the states are read, as for `trace`.
        corpus: name of the corpus that the matrices of `mat` come from; None: the shown one.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.

    Returns:
        An answer with the polars frames `cells`, one row per layer and position, and `neurons`, one row per dominant
        neuron of a cell.

    Raises:
        NeurothekError: there is no such model, its weights or matrices are not available, the prompt does not fit,
            or the model predicts no next token.

    Example:
        >>> page = warehouse.trace_grid("mini-opt-0.7m", "The river is near the")
        >>> page.cells.height == page.n_layers * len(page.tokens)
        True
    """
    from neurothek.queries.trace.trace import Lens

    require(Lens, lens=lens)
    for name, number in (("top", top), ("most", most)):
        if number is not None and number < 1:
            raise bad_argument(name, number, "give 1 or more")
    if dominant < 0:
        raise bad_argument("dominant", dominant, "give 0 or more")
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.queries.names.models import choose_model
    from neurothek.queries.trace.grid import grid_page
    from neurothek.queries.trace.switch import neuron_of
    from neurothek.queries.trace.trace import lens_matrices
    from neurothek.queries.views.on_corpus import on_corpus

    _require_switch(value=set, n_random=1, seed=0)
    with base.reader() as connection:
        chosen = choose_model(connection, model)
        address = None if neuron is None else neuron_of(connection, model, neuron)
        stored = lens_matrices(connection, model, lens, corpus=corpus)
    matrices = _matrices(base, stored)
    require_prompt(prompt)
    require_weights(chosen, weights=weights, allow_pickle=allow_pickle)
    from neurothek.ingest.trace.ablation import Ablation
    from neurothek.ingest.trace.grid import trace_grid
    from neurothek.ingest.trace.open_models import OPEN_MODELS

    change = None if address is None else Ablation(address.layer, address.neuron, float(set))
    setting = "" if address is None else f"L{address.layer}N{address.neuron} set to {set:g}"
    with OPEN_MODELS.model(chosen, weights=weights, allow_pickle=allow_pickle) as opened:
        traced = trace_grid(
            *opened, prompt, top=top, n_dominant=dominant, most=most, matrices=matrices, ablation=change
        )
    with base.reader() as connection, on_corpus(connection, [model], corpus) as prepared:
        return grid_page(prepared, chosen, traced, lens=lens, setting=setting)


@validated
def activations(
    base: "Neurothek",
    neuron: str,
    prompt: str,
    *,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
) -> "AlongPage":
    """One neuron's activation on each token of a prompt: its coefficient, after the non-linearity.

    Args:
        neuron: address of the neuron, such as "opt-125m/L3N17".
        prompt: the text.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.

    Returns:
        An answer with the polars frame `tokens`, one row per position.

    Raises:
        NeurothekError: there is no such neuron, its weights are not available, or the prompt does not fit.

    Example:
        >>> page = warehouse.activations("mini-opt-0.7m/L2N17", "The river is near the")
        >>> page.tokens.columns
        ['position', 'token', 'activation']
    """
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.queries.names.models import find_neuron
    from neurothek.queries.trace.grid import along_page

    with base.reader() as connection:
        address = find_neuron(connection, neuron)
    require_prompt(prompt)
    require_weights(address.of, weights=weights, allow_pickle=allow_pickle)
    from neurothek.ingest.trace.grid import activations_along
    from neurothek.ingest.trace.open_models import OPEN_MODELS

    with OPEN_MODELS.model(address.of, weights=weights, allow_pickle=allow_pickle) as opened:
        activations_there = activations_along(*opened, prompt, layer=address.layer, neuron=address.neuron)
    return along_page(address, activations_there)


@validated
def switch(
    base: "Neurothek",
    model: str,
    prompt: str,
    neuron: str,
    *,
    set: float = 0.0,  # noqa: A002 - as the command intervene calls it
    pre: bool = False,
    position: int | None = None,
    n_random: int = 20,
    seed: int = 0,
    continuation: int = 0,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
) -> "SwitchPage":
    """The next token of a prompt when one neuron is set to a value, compared with random neurons.

    The random neurons are drawn from those of its layer that are active somewhere on the prompt, up to the position (of
    a gated model: whose gate opens there); where these are too few, the rest from those that fire on the shown corpus,
    or from all if activity was not measured.

    Args:
        model: name of the model.
        prompt: the text.
        neuron: address of the neuron, such as "L3N17" or "opt-125m/L3N17".
        set: value to set it to, at every position; 0 turns it off.
        pre: set it before the non-linearity instead of after it.
        position: a position of the prompt, from 0, or below 0 from its end; None: the last one.
        n_random: how many random neurons to compare it with.
        seed: seed of the random draw.
        continuation: how many tokens the model then writes, the most probable ones, beside what it writes untouched
            and with the random neuron of median divergence set likewise.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.

    Returns:
        An answer with the polars frames `neurons` and `changes`, which both include the random neurons, and `texts`,
        which is empty without `continuation`.

    Raises:
        NeurothekError: there is no such model or neuron, its weights are not available, the prompt does not fit, or
            the model predicts no next token.

    Example:
        >>> page = warehouse.switch("mini-opt-0.7m", "The river is near the", "L2N17", set=3)
        >>> page.neurons.height, page.neurons["is_random"].sum()
        (21, 20)
        >>> page.changes.group_by("address").len()["len"].unique().to_list()
        [10]
        >>> page = warehouse.switch("mini-opt-0.7m", "The river is near the", "L2N17", continuation=5)
        >>> page.texts["changed"].to_list()[:2]
        ['(nothing)', 'mini-opt-0.7m/L2N17']
    """
    _require_switch(value=set, n_random=n_random, seed=seed, continuation=continuation)
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.queries.trace.switch import firing_beside, neuron_of, switch_page

    with base.reader() as connection:
        address = neuron_of(connection, model, neuron)
        firing = firing_beside(connection, address)
    chosen = address.of
    require_prompt(prompt, position)
    require_weights(chosen, weights=weights, allow_pickle=allow_pickle)
    from neurothek.ingest.trace.ablation import Ablation, ablated
    from neurothek.ingest.trace.open_models import OPEN_MODELS

    change = Ablation(address.layer, address.neuron, float(set), is_before=pre)
    with OPEN_MODELS.model(chosen, weights=weights, allow_pickle=allow_pickle) as opened:
        result = ablated(
            *opened,
            prompt,
            change,
            position=position,
            firing=firing,
            n_random=n_random,
            seed=seed,
            continuation=continuation,
        )
    with base.reader() as connection:
        return switch_page(connection, chosen, result)


@validated
def switch_together(
    base: "Neurothek",
    model: str,
    prompt: str,
    *neurons: str,
    set: float = 0.0,  # noqa: A002 - as the command intervene calls it
    pre: bool = False,
    position: int | None = None,
    n_random: int = 20,
    seed: int = 0,
    continuation: int = 0,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
) -> "TogetherPage":
    """The next token of a prompt when several neurons are set to a value, each alone and all together.

    They are compared with random sets of as many neurons of each layer, drawn as by `switch`.

    Args:
        model: name of the model.
        prompt: the text.
        neurons: addresses of the neurons, such as "L3N17" or "opt-125m/L3N17".
        set: value to set them to, at every position; 0 turns them off.
        pre: set them before the non-linearity instead of after it.
        position: a position of the prompt, from 0, or below 0 from its end; None: the last one.
        n_random: how many random sets to compare them with.
        seed: seed of the random draw.
        continuation: how many tokens the model writes with all together, the most probable ones, beside what it writes
            untouched and with the random set of median divergence.
        weights: folder of the weights, if they have moved.
        allow_pickle: whether pickled weights may be read.

    Returns:
        An answer with the polars frames `sets` and `changes`, and `texts`, which is empty without `continuation`.

    Raises:
        NeurothekError: there is no such model or neuron, its weights are not available, the prompt does not fit, or
            the model predicts no next token.

    Example:
        >>> page = warehouse.switch_together("mini-opt-0.7m", "The river is near the", "L2N17", "L1N4")
        >>> page.sets["kind"].to_list()[:4]
        ['alone', 'alone', 'together', 'random']
    """
    _require_switch(value=set, n_random=n_random, seed=seed, continuation=continuation)
    if not neurons:
        raise bad_argument("neurons", neurons, "give one address or more")
    from neurothek.ingest.planning.first_look import require_weights
    from neurothek.queries.trace.switch import firing_beside, neuron_of, together_page

    with base.reader() as connection:
        addresses = list(dict.fromkeys(neuron_of(connection, model, neuron) for neuron in neurons))
        firing = {one.layer: firing_beside(connection, one) for one in addresses}
    chosen = addresses[0].of
    require_weights(chosen, weights=weights, allow_pickle=allow_pickle)
    from neurothek.ingest.trace.ablation import Ablation, ablated_together
    from neurothek.ingest.trace.open_models import OPEN_MODELS

    changes = [Ablation(one.layer, one.neuron, float(set), is_before=pre) for one in addresses]
    with OPEN_MODELS.model(chosen, weights=weights, allow_pickle=allow_pickle) as opened:
        result = ablated_together(
            *opened,
            prompt,
            changes,
            position=position,
            firing=firing,
            n_random=n_random,
            seed=seed,
            continuation=continuation,
        )
    with base.reader() as connection:
        return together_page(connection, chosen, result)


@validated
def shortcut(
    base: "Neurothek", model: str, *, state: int, target: int | None = None, corpus: str | None = None
) -> "np.ndarray":
    """The least-squares matrix A from a state of a model to its last one, or to `target`: h becomes A h.

    States count from 0, the embeddings; state s leaves block s - 1, and the last one precedes the final norm.

    Args:
        model: name of the model.
        state: the state that the matrix leads from.
        target: the state that it leads to; None: the last one.
        corpus: name of the corpus that it was fitted on; None: the shown one.

    Returns:
        float32 [d_model d_model]; of states in rows, `states @ A.T`.

    Raises:
        NeurothekError: there is no such model or state, its shortcuts were not measured, or the file is not there.

    Example:
        >>> matrix = warehouse.shortcut("mini-opt-0.7m", state=0)
        >>> matrix.shape[0] == matrix.shape[1], matrix.dtype
        (True, dtype('float32'))
    """
    from neurothek.queries.trace.shortcut import stored_shortcut

    with base.reader() as connection:
        stored = stored_shortcut(connection, model, state=state, target=target, corpus=corpus)
    return _matrices(base, [stored])[0]


_MOST_RANDOM = 1000
_MOST_RAISING = 1000
_LARGEST = 1e30
_LARGEST_SEED = 2**63 - 1


def require_prompt(prompt: str, position: int | None = None) -> None:
    """Refuse before an engine is loaded what no tokenizer can make right.

    Raises:
        Invalid: nothing is written, or the position lies beyond the longest that the prompt can be.
    """
    if not prompt:
        raise empty_prompt(prompt)
    # No tokenizer makes more tokens than bytes, beside a BOS and a blank in front; what a normalizer (NFKD) puts in the
    # place of a character that is not ASCII has at most eleven times its bytes.
    longest = (1 if prompt.isascii() else 11) * len(prompt.encode("utf-8", "replace")) + 2
    if position is not None and not -longest <= position < longest:
        raise bad_argument("position", position, f"the prompt has at most {longest} positions, counted from 0")


def _require_switch(*, value: float, n_random: int, seed: int, continuation: int = 0) -> None:
    """Refuse numbers out of range."""
    # Nan is in no range either.
    if not -_LARGEST <= value <= _LARGEST:
        raise bad_argument("set", value, f"give a number from {-_LARGEST:g} to {_LARGEST:g}")
    if not 1 <= n_random <= _MOST_RANDOM:
        raise bad_argument("n_random", n_random, f"give 1 to {_MOST_RANDOM:,}")
    if not 0 <= seed <= _LARGEST_SEED:
        raise bad_argument("seed", seed, f"give 0 to {_LARGEST_SEED:,}")
    if continuation < 0:
        raise bad_argument("continuation", continuation, "give 0 or more tokens")


def _matrices(base: "Neurothek", stored: "Sequence[StoredMatrix]") -> "list[np.ndarray]":
    """The matrices themselves; those of a catalog are fetched first."""
    from neurothek.catalog.store.matrix_files import matrix_of

    warehouse = base.warehouse
    if stored and base.address is not None:
        from neurothek.catalog.hub.catalog import Catalog

        assert isinstance(warehouse, Catalog), "an address is a catalog's"
        warehouse.fetch_matrices(stored)
    return [matrix_of(one, warehouse.maps) for one in stored]
