"""What is asked of a model's own files from Python: its weights, and the matrices that were kept of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from catalog.arguments import BadArgument, require
from catalog.progress import Progress
from neurothek.opened import Opened, checked

if TYPE_CHECKING:
    import numpy as np

    from queries.search.by_score import ScoredResult
    from queries.search.question import Conditions, Question
    from queries.trace.switch import SwitchPage
    from queries.trace.trace import Lens, TracePage


class Reading(Opened):
    """Answers that join the warehouse with the files of a model."""

    @checked
    def score(
        self,
        question: "str | Question",
        *,
        weights: str | Path | None = None,
        progress: Progress | None = None,
        **conditions: Unpack["Conditions"],
    ) -> "ScoredResult":
        """Every neuron's exact score of a word, computed from the weights of the models asked about.

        Args:
            question: a word, or a search that has been put together.
            weights: folder of the weights of one model, if they are no longer where they were.
            progress: told how far it is.
            conditions: what is asked of the neurons, beside a word, as in `search`.

        Raises:
            NeurothekError: it cannot be answered, or weights are not at hand.

        Example:
            >>> scored = warehouse.score("school", model="mini-opt-0.7m", limit=2)
            >>> scored.neurons.height
            2
        """
        from ingest.planning.first_look import require_weights
        from queries.search.by_score import scored, wanted
        from queries.search.question import Question, put_together

        if isinstance(question, str):
            question = put_together((question,), **conditions)
        elif conditions:
            raise BadArgument("question", question, "give a word, or a question that holds the conditions itself")
        require(Question, question=question)
        with self.reader() as connection:
            asked = wanted(connection, question)
        for one in asked:
            require_weights(one.model, weights=weights)
        from ingest.models.measured import open_measured
        from ingest.trace.token_scores import token_scores

        scores = []
        for one in asked:
            opened = open_measured(one.model, weights=weights)
            frame = token_scores(*opened, list(one.tokens), layers=one.layers, progress=progress)
            scores.append((one, frame))
        with self.reader() as connection:
            return scored(connection, question, scores)

    @checked
    def trace(
        self,
        model: str,
        prompt: str,
        *,
        position: int | None = None,
        top: int = 5,
        token: str | None = None,
        lens: "Lens" = "id",
        corpus: str | None = None,
        weights: str | Path | None = None,
        allow_pickle: bool = False,
    ) -> "TracePage":
        """How a model builds its prediction at one position of a prompt.

        Args:
            model: name of the model.
            prompt: the text that it reads.
            position: a position of the prompt, from 0, or below 0 from its end; None: the last one.
            top: how many tokens to list before and after each FFN.
            token: a token whose rank to follow through the layers.
            lens: `id` reads the states as they are; `mat` reads them through the matrices to the last one too, as
                `shortcut` gives them.
            corpus: name of the corpus that the matrices and the facts about neurons come from; None: the shown one.
            weights: folder of the weights, if they are no longer where they were.
            allow_pickle: whether pickled weights may be read.

        Returns:
            An answer with the polars frames `layers`, `neurons` and `states`.

        Raises:
            NeurothekError: there is no such model or token, its weights or matrices are not at hand, or the prompt
                does not fit.

        Example:
            >>> page = warehouse.trace("mini-opt-0.7m", "The river is near the", token=" sea")
            >>> page.layers["layer"].to_list() == list(range(page.layers.height))
            True
            >>> page.neurons.group_by("layer").len()["len"].unique().to_list()
            [10]
        """
        from queries.trace.trace import Lens

        require(Lens, lens=lens)
        if top < 1:
            raise BadArgument("top", top, "give 1 or more")
        from catalog.store.matrix_files import matrix_of
        from ingest.planning.first_look import require_weights
        from queries.names.corpora import choose_corpora
        from queries.names.models import choose_model
        from queries.trace.trace import kept_for, token_of, trace_page
        from queries.views.on_corpus import on_corpus

        with self.reader() as connection:
            known = choose_model(connection, model)
            token_id, text = (None, None) if token is None else token_of(connection, known, token)
            kept = kept_for(connection, model, lens, corpus=corpus)
            # One that is not there is refused before the model runs.
            choose_corpora(connection, [model], corpus)
        matrices = [matrix_of(one, self.warehouse.maps) for one in kept]
        require_weights(known, weights=weights, allow_pickle=allow_pickle)
        from ingest.models.measured import open_measured
        from ingest.trace.trace import trace

        opened = open_measured(known, weights=weights, allow_pickle=allow_pickle)
        traced = trace(*opened, prompt, position=position, top=top, token_id=token_id, matrices=matrices)
        with self.reader() as connection, on_corpus(connection, [model], corpus) as shown:
            return trace_page(shown, known, traced, token=text)

    @checked
    def switch(
        self,
        model: str,
        prompt: str,
        neuron: str,
        *,
        set: float = 0.0,  # noqa: A002 - as the command intervene calls it
        pre: bool = False,
        position: int | None = None,
        n_random: int = 20,
        seed: int = 0,
        weights: str | Path | None = None,
        allow_pickle: bool = False,
    ) -> "SwitchPage":
        """What the next token of a prompt becomes when one neuron is set to a value, and when random ones are.

        The random neurons are drawn from those of its layer that fire on the shown corpus, from all where activity was
        not measured.

        Args:
            model: name of the model.
            prompt: the text that it reads.
            neuron: address of the neuron, such as "L3N17" or "opt-125m/L3N17".
            set: what it is set to, at every position: 0 turns it off.
            pre: set it before the non-linearity instead of after it.
            position: a position of the prompt, from 0, or below 0 from its end; None: the last one.
            n_random: how many random neurons to compare it with.
            seed: of their draw.
            weights: folder of the weights, if they are no longer where they were.
            allow_pickle: whether pickled weights may be read.

        Returns:
            An answer with the polars frames `neurons` and `changes`, the random neurons in both.

        Raises:
            NeurothekError: there is no such model or neuron, its weights are not at hand, the prompt does not fit, or
                the model predicts no next token.

        Example:
            >>> page = warehouse.switch("mini-opt-0.7m", "The river is near the", "L2N17", set=3)
            >>> page.neurons.height, page.neurons["is_random"].sum()
            (21, 20)
            >>> page.changes.group_by("address").len()["len"].unique().to_list()
            [10]
        """
        _require_switch(value=set, n_random=n_random, seed=seed)
        from ingest.planning.first_look import require_weights
        from queries.trace.switch import firing_beside, neuron_of, switch_page

        with self.reader() as connection:
            address = neuron_of(connection, model, neuron)
            firing = firing_beside(connection, address)
        known = address.of
        require_weights(known, weights=weights, allow_pickle=allow_pickle)
        from ingest.models.measured import open_measured
        from ingest.trace.switched import Switch, switched

        opened = open_measured(known, weights=weights, allow_pickle=allow_pickle)
        wanted = Switch(address.layer, address.neuron, float(set), is_before=pre)
        found = switched(*opened, prompt, wanted, position=position, firing=firing, n_random=n_random, seed=seed)
        with self.reader() as connection:
            return switch_page(connection, known, found)

    @checked
    def shortcut(self, model: str, *, state: int, target: int | None = None, corpus: str | None = None) -> "np.ndarray":
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
        from catalog.store.matrix_files import matrix_of
        from queries.trace.shortcut import kept_shortcut

        with self.reader() as connection:
            kept = kept_shortcut(connection, model, state=state, target=target, corpus=corpus)
        return matrix_of(kept, self.warehouse.maps)


_MOST_RANDOM = 1000
_LARGEST = 1e30
_LARGEST_SEED = 2**63 - 1


def _require_switch(*, value: float, n_random: int, seed: int) -> None:
    """Refuse numbers out of range."""
    # Nan is in no range either.
    if not -_LARGEST <= value <= _LARGEST:
        raise BadArgument("set", value, f"give a number from {-_LARGEST:g} to {_LARGEST:g}")
    if not 1 <= n_random <= _MOST_RANDOM:
        raise BadArgument("n_random", n_random, f"give 1 to {_MOST_RANDOM:,}")
    if not 0 <= seed <= _LARGEST_SEED:
        raise BadArgument("seed", seed, f"give 0 to {_LARGEST_SEED:,}")
