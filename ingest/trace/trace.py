"""Answers that need the model at the time of the question: how it builds its prediction for one prompt."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from catalog.tables.traces import TRACE_LAYERS, TRACE_NEURONS, TRACE_STATES, TRACE_TOKENS, Traced
from ingest.corpora.prompts import Prompt
from ingest.errors import NothingToTrace
from ingest.forward.prompt_pass import prompt_batches
from ingest.jobs.events.layers import Layer, watch
from ingest.jobs.events.readings import Events, Readings, events, read
from ingest.jobs.events.scores import picked_scores, score
from ingest.jobs.events.sub_updates import N_DOMINANT
from ingest.lens.logit_lens import Lens, probabilities_, ranks, top_rows
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer
from ingest.trace.asked_prompt import ids_of, place_of
from ingest.trace.states_frame import states_frame

MOMENTS = ("pre", "post")


def trace(
    transformer: Transformer,
    tokenizer: Tokenizer,
    prompt: str,
    *,
    position: int | None = None,
    top: int = 5,
    token_id: int | None = None,
    matrices: Sequence[np.ndarray] = (),
) -> Traced:
    """Read one position of a prompt layer by layer.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        prompt: the text; a BOS is put in front where the tokenizer does so.
        position: the position, 0-based and with a BOS counted; below 0 from the end; None: the last.
        top: tokens shown before and after each FFN.
        token_id: a token whose ranks and scores are wanted too.
        matrices: of each state but the last one, float32 [d_model d_model] to read it through; none: states are not.

    Raises:
        NothingToTrace: the model is a masked one.
        PromptEmpty: the prompt has no tokens.
        PromptTooLong: it has more than the model reads.
        PositionMissing: it has no such position.
    """
    if transformer.shape.is_masked:
        raise NothingToTrace
    ids = ids_of(tokenizer, prompt, context_length=transformer.shape.context_length)
    place = place_of(ids, position)
    with torch.inference_mode():
        return _traced(transformer, tokenizer, ids, place, top=top, token_id=token_id, matrices=matrices)


def _traced(
    transformer: Transformer,
    tokenizer: Tokenizer,
    ids: np.ndarray,
    place: int,
    *,
    top: int,
    token_id: int | None,
    matrices: Sequence[np.ndarray],
) -> Traced:
    # Attention looks back only: what comes after the position changes nothing there.
    example = Prompt(0, "", ids[: place + 1], position=place, own_position=place)
    n_layers = transformer.shape.n_layers
    norms = [torch.linalg.vector_norm(transformer.value_vectors(layer), dim=1) for layer in range(n_layers)]
    layers = watch(transformer, [example], norms, n_event_examples=0, seed=0, batch_tokens=len(ids))
    lens = Lens.of(transformer, tokenizer)
    asked = None if token_id is None else _row(lens, token_id)
    readings = read(lens, layers, torch.zeros(1, dtype=torch.int64, device=transformer.device))
    found = events(readings.tops.cpu().numpy(), readings.candidate_ranks.cpu().numpy())
    elimination = int(found.elimination[0])
    (batch,) = prompt_batches([example], batch_tokens=len(ids))
    embedded = batch.at_positions(transformer.embed(batch.tokens))
    states = [embedded, *(layer.post for layer in layers)]
    return Traced(
        tokens=tokenizer.texts(ids),
        position=place,
        final_token=int(lens.vocabulary.ids[int(readings.final[0])]),
        final_probability=float(readings.probabilities[0, -1, 1]),
        saturation_layer=int(found.saturation[0]),
        saturation_by_ffn=bool(found.by_ffn[0]),
        elimination_layer=elimination if elimination >= 0 else None,
        layers=TRACE_LAYERS.check(_layers_frame(lens, layers, readings, found, asked)),
        top_tokens=TRACE_TOKENS.check(_tokens_frame(lens, layers, top=top)),
        neurons=TRACE_NEURONS.check(_neurons_frame(lens, layers, readings, transformer, asked)),
        states=TRACE_STATES.check(
            states_frame(lens, states, matrices, final=readings.final, asked=asked, top=top),
        ),
    )


def _row(lens: Lens, token_id: int) -> Int[Tensor, " one"]:
    """[1] the token as a row of the vocabulary."""
    row = np.searchsorted(lens.vocabulary.ids, [token_id])
    return torch.from_numpy(row).to(lens.vocabulary.rows.device)


def _layers_frame(
    lens: Lens, layers: Sequence[Layer], readings: Readings, found: Events, asked: Int[Tensor, " one"] | None
) -> pl.DataFrame:
    rows = []
    for number, layer in enumerate(layers):
        share = float(layer.dominant[0])
        final_ranks = readings.final_ranks[0, number].tolist()
        rows.append(
            {
                "layer": number,
                "final_rank_before": final_ranks[0],
                "final_rank_after": final_ranks[1],
                "candidate_token": int(lens.vocabulary.ids[int(readings.tops[0, number, 0])]),
                "candidate_rank_after": int(readings.candidate_ranks[0, number]),
                "token_rank_before": _rank(lens, layer.pre, asked),
                "token_rank_after": _rank(lens, layer.post, asked),
                # A share of a sum of 0 is not a number.
                "dominant_share": share if share == share else None,  # noqa: PLR0124 - only NaN differs from itself
                "is_saturation": number == found.saturation[0],
                "is_elimination": number == found.elimination[0],
            }
        )
    return pl.DataFrame(rows, schema=dict(TRACE_LAYERS.columns))


def _rank(lens: Lens, stream: Float[Tensor, "one d_model"], asked: Int[Tensor, " one"] | None) -> int | None:
    return None if asked is None else int(ranks(lens.logits(stream), asked[:, None])[0, 0])


def _tokens_frame(lens: Lens, layers: Sequence[Layer], *, top: int) -> pl.DataFrame:
    rows = []
    for number, layer in enumerate(layers):
        for moment, stream in zip(MOMENTS, (layer.pre, layer.post), strict=True):
            logits = lens.logits(stream)
            best = top_rows(logits, top)
            shares = probabilities_(logits, best, largest=logits.amax(1))
            for rank, (row, share) in enumerate(zip(best[0].tolist(), shares[0].tolist(), strict=True), start=1):
                token_id = int(lens.vocabulary.ids[row])
                rows.append(
                    {"layer": number, "moment": moment, "rank": rank, "token_id": token_id, "probability": share}
                )
    return pl.DataFrame(rows, schema=dict(TRACE_TOKENS.columns))


def _neurons_frame(
    lens: Lens,
    layers: Sequence[Layer],
    readings: Readings,
    transformer: Transformer,
    asked: Int[Tensor, " one"] | None,
) -> pl.DataFrame:
    frames = []
    for number, (layer, scores) in enumerate(zip(layers, score(lens, layers, readings, transformer), strict=True)):
        there = layer.is_there[0, :N_DOMINANT].cpu().numpy()
        total = float(layer.total[0])
        size = layer.contributions[0, :N_DOMINANT].cpu().numpy()[there]
        columns = {
            "layer": [number] * int(there.sum()),
            "rank": np.arange(1, int(there.sum()) + 1),
            "neuron": layer.neurons[0, :N_DOMINANT].cpu().numpy()[there],
            "coefficient": layer.coefficients[0, :N_DOMINANT].cpu().numpy()[there],
            "contribution": size,
            "share": size.astype(np.float64) / total if total > 0 else [None] * len(size),
            "score_candidate": scores.candidate.raw[0, :N_DOMINANT].cpu().numpy()[there],
            "score_final": scores.final.raw[0, :N_DOMINANT].cpu().numpy()[there],
            "score_token": [None] * len(size),
        }
        if asked is not None:
            wanted = picked_scores(lens, layer, transformer.value_vectors(number), asked)
            columns["score_token"] = wanted.raw[0, :N_DOMINANT].cpu().numpy()[there]
        frames.append(pl.DataFrame(columns).cast(pl.Schema(TRACE_NEURONS.columns)))
    return pl.concat(frames)
