"""Queries of a model's own files from Python: its weights, and the matrices that were kept of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from neurothek.catalog.arguments import bad_argument, require
from neurothek.catalog.progress import Progress
from neurothek.opened import Opened, checked

if TYPE_CHECKING:
    import numpy as np

    from neurothek.queries.search.by_score import ScoredResult
    from neurothek.queries.search.question import Conditions, Question


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
        """Every neuron's exact score of a word, computed from the weights of the selected models.

        Args:
            question: a word, or a prepared search.
            weights: folder of the weights of one model, if they have moved.
            progress: receives progress reports.
            conditions: further conditions on the neurons, as in `search`.

        Raises:
            NeurothekError: it cannot be answered, or weights are not available.

        Example:
            >>> scored = warehouse.score("school", model="mini-opt-0.7m", limit=2)
            >>> scored.neurons.height
            2
        """
        from neurothek.ingest.models.mapped_weights import map_measured
        from neurothek.queries.search.by_score import scored, scorings
        from neurothek.queries.search.question import Question, put_together

        if isinstance(question, str):
            question = put_together((question,), **conditions)
        elif conditions:
            raise bad_argument("question", question, "give a word, or a question that holds the conditions itself")
        require(Question, question=question)
        with self.reader() as connection:
            requests = scorings(connection, question)
        mapped = {
            one.model.model_id: map_measured(one.model, weights=weights, is_thorough=True, progress=progress)
            for one in requests
        }
        with self.reader() as connection:
            return scored(connection, question, requests, mapped)

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
        from neurothek.catalog.store.matrix_files import matrix_of
        from neurothek.queries.trace.shortcut import stored_shortcut

        with self.reader() as connection:
            stored = stored_shortcut(connection, model, state=state, target=target, corpus=corpus)
        return matrix_of(stored, self.warehouse.maps)
