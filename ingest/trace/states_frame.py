"""What a model predicts from each of its states at one position: directly, and through kept matrices ([D] 4)."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.traces import TRACE_STATES
from neurothek.ingest.jobs.shortcuts.fits import applied
from neurothek.ingest.lens.logit_lens import Lens, probabilities_, ranks, top_rows

State = Float[Tensor, "one d_model"]


def states_frame(
    lens: Lens,
    states: Sequence[State],
    matrices: Sequence[Float[np.ndarray, "d_model d_model"]],
    *,
    final: Int[Tensor, " one"],
    asked: Int[Tensor, " one"] | None,
    top: int,
) -> pl.DataFrame:
    """Rows of TRACE_STATES; none without matrices.

    Args:
        lens: the model's end.
        states: all of them, from the embeddings to what leaves the last block.
        matrices: of each state but the last one: what leads to that.
        final: row of the token that the model predicts.
        asked: row of a token that was asked about.
        top: how many tokens are listed.
    """
    rows = [
        {"state": number, "method": method, **_said(lens, state, final=final, asked=asked, top=top)}
        for number, method, state in _read(states, matrices)
    ]
    return pl.DataFrame(rows, schema=dict(TRACE_STATES.columns))


def _read(
    states: Sequence[State], matrices: Sequence[Float[np.ndarray, "d_model d_model"]]
) -> Iterator[tuple[int, str, State]]:
    """(state, method, what is read); from the last one both methods are the model."""
    if not matrices:
        return
    for number, (state, matrix) in enumerate(zip(states, [*matrices, None], strict=True)):
        yield number, "id", state
        yield number, "mat", state if matrix is None else applied(torch.from_numpy(matrix).to(state.device), state)


def _said(
    lens: Lens, state: State, *, final: Int[Tensor, " one"], asked: Int[Tensor, " one"] | None, top: int
) -> dict[str, object]:
    logits = lens.logits(state)
    best = top_rows(logits, top)
    found = {
        "final_rank": int(ranks(logits, final[:, None])[0, 0]),
        "token_rank": None if asked is None else int(ranks(logits, asked[:, None])[0, 0]),
        "token_ids": lens.vocabulary.ids[best[0].cpu().numpy()].tolist(),
    }
    # The logits are used up.
    return found | {"probabilities": probabilities_(logits, best, largest=logits.amax(1))[0].tolist()}
