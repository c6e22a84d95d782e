"""Answers that need the model at the time of the question: how it builds its prediction for one prompt."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import Any, get_args

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.traces import (
    TRACE_LAYERS,
    TRACE_NEURONS,
    TRACE_RAISING,
    TRACE_STATES,
    TRACE_TOKENS,
    RaisingOrder,
    Traced,
)
from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.errors import nothing_to_trace
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.forward.prompt_pass import Look, prompt_batches
from neurothek.ingest.jobs.events.readings import Events, FfnSide, Layer, Readings, events, picked, read
from neurothek.ingest.jobs.events.scores import picked_scores, score
from neurothek.ingest.jobs.events.sub_updates import N_DOMINANT
from neurothek.ingest.jobs.shortcuts.fits import applied
from neurothek.ingest.lens.logit_lens import Lens, probabilities_, ranks, top_rows
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.ablation import Ablation, last_streams
from neurothek.ingest.trace.open_models import ids_of, place_of

MOMENTS: tuple[FfnSide, ...] = get_args(FfnSide)

N_EFFECTS = 10
"""Neurons that raise a token most and that are switched off one by one, if asked."""


def trace(
    transformer: Transformer,
    tokenizer: Tokenizer,
    prompt: str,
    *,
    position: int | None = None,
    top: int = 5,
    token_id: int | None = None,
    matrices: Sequence[np.ndarray] = (),
    n_raising: int = 10,
    sort: RaisingOrder = "centred",
    effects: bool = False,
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
        n_raising: how many of the neurons of all layers that raise the token, or the predicted one, are listed.
        sort: which of them come first.
        effects: whether each of the first `N_EFFECTS` of them is switched off, to see what becomes of the token.
    """
    if transformer.shape.is_masked:
        raise nothing_to_trace()
    ids = ids_of(tokenizer, prompt, context_length=transformer.shape.context_length)
    place = place_of(ids, position)
    with torch.inference_mode():
        return _traced(
            transformer,
            tokenizer,
            ids,
            place,
            top=top,
            token_id=token_id,
            matrices=matrices,
            n_raising=n_raising,
            sort=sort,
            effects=effects,
        )


def _traced(
    transformer: Transformer,
    tokenizer: Tokenizer,
    ids: np.ndarray,
    place: int,
    *,
    top: int,
    token_id: int | None,
    matrices: Sequence[np.ndarray],
    n_raising: int,
    sort: RaisingOrder,
    effects: bool,
) -> Traced:
    # Attention looks back only: what comes after the position changes nothing there.
    example = Prompt(0, "", ids[: place + 1], position=place, own_position=place)
    layers, everywhere = _watched(transformer, example)
    lens = Lens.of(transformer, tokenizer)
    chosen = None if token_id is None else _row(lens, token_id)
    best = _Best(top)
    targets = torch.zeros(1, dtype=torch.int64, device=transformer.device)
    readings = read(lens, layers, targets, look=best, layers_at_once=_BLOCK)
    happened = events(readings.tops.cpu().numpy(), readings.candidate_ranks.cpu().numpy())
    elimination = int(happened.elimination[0])
    (batch,) = prompt_batches([example], batch_tokens=len(ids))
    embedded = batch.at_positions(transformer.embed(batch.tokens))
    states = [embedded, *(layer.post for layer in layers)]
    raised = readings.final if chosen is None else chosen
    centre = lens.vocabulary.centre()
    raising = raising_rows(
        lens, transformer, layers, everywhere, raised=raised, centre=centre, limit=n_raising, sort=sort
    )
    if effects and raising:
        add_effects_(lens, transformer, raising[:N_EFFECTS], ids=ids[: place + 1], raised=raised)
    own_logit, own_probability = said_of(lens, layers[-1].post, raised)
    return Traced(
        tokens=tokenizer.texts(ids),
        position=place,
        final_token=int(lens.vocabulary.ids[int(readings.final[0])]),
        final_probability=float(readings.probabilities[0, -1, 1]),
        saturation_layer=int(happened.saturation[0]),
        saturation_by_ffn=bool(happened.by_ffn[0]),
        elimination_layer=elimination if elimination >= 0 else None,
        layers=TRACE_LAYERS.check(_layers_frame(lens, layers, readings, happened, chosen)),
        top_tokens=TRACE_TOKENS.check(_tokens_frame(lens, best)),
        neurons=TRACE_NEURONS.check(_neurons_frame(lens, layers, readings, transformer, chosen, centre=centre)),
        states=TRACE_STATES.check(
            states_frame(lens, states, matrices, final=readings.final, chosen=chosen, top=top),
        ),
        raised_token=int(lens.vocabulary.ids[int(raised[0])]),
        raised_probability=own_probability,
        raised_logit=own_logit,
        raising=TRACE_RAISING.check(pl.DataFrame(raising, schema=dict(TRACE_RAISING.columns))),
    )


@dataclass(frozen=True, eq=False)
class AllNeurons:
    """All neurons of a layer at the position."""

    coefficients: Float[Tensor, " d_ffn"]  # their activations
    written: Float[Tensor, " d_ffn"]  # what their value vectors are multiplied by


def _watched(transformer: Transformer, example: Prompt) -> tuple[list[Layer], list[AllNeurons]]:
    """What every layer does at the position, and all its neurons there."""

    def look_at(layer: int) -> Look:
        norms = torch.linalg.vector_norm(transformer.value_vectors(layer), dim=1)
        return lambda seen: (
            picked(seen, norms, layer=layer, n_event_examples=0, seed=0)
            | {
                "all_coefficients": seen.batch.at_positions(seen.output.coefficients),
                "all_written": seen.batch.at_positions(seen.output.written),
            }
        )

    columns_by_layer = list(prompt_pass.run(transformer, [example], look_at, batch_tokens=len(example.tokens)))
    everywhere = [
        AllNeurons(columns.pop("all_coefficients")[0], columns.pop("all_written")[0]) for columns in columns_by_layer
    ]
    return [Layer(**columns) for columns in columns_by_layer], everywhere


def _row(lens: Lens, token_id: int) -> Int[Tensor, " one"]:
    """[1] the token as a row of the vocabulary."""
    row = np.searchsorted(lens.vocabulary.ids, [token_id])
    return torch.from_numpy(row).to(lens.vocabulary.rows.device)


def _layers_frame(
    lens: Lens, layers: Sequence[Layer], readings: Readings, happened: Events, chosen: Int[Tensor, " one"] | None
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
                "token_rank_before": _rank(lens, layer.pre, chosen),
                "token_rank_after": _rank(lens, layer.post, chosen),
                # A share of a sum of 0 is not a number.
                "dominant_share": share if share == share else None,  # noqa: PLR0124 - only NaN differs from itself
                "is_saturation": number == happened.saturation[0],
                "is_elimination": number == happened.elimination[0],
            }
        )
    return pl.DataFrame(rows, schema=dict(TRACE_LAYERS.columns))


def _rank(lens: Lens, stream: Float[Tensor, "one d_model"], chosen: Int[Tensor, " one"] | None) -> int | None:
    return None if chosen is None else int(ranks(lens.logits(stream), chosen[:, None])[0, 0])


class _Best:
    """The most probable tokens at every layer and moment, taken from logits that are there for `read`."""

    def __init__(self, top: int) -> None:
        self._top = top
        self.by_moment: dict[tuple[int, str], tuple[list[int], list[float]]] = {}

    def __call__(self, layer: int, moment: FfnSide, logits: Float[Tensor, "one vocab"]) -> None:
        """Keep their rows of the vocabulary and their probabilities."""
        rows = top_rows(logits, self._top)
        shares = probabilities_(logits.clone(), rows, largest=logits.amax(1))
        self.by_moment[layer, moment] = rows[0].tolist(), shares[0].tolist()


def _tokens_frame(lens: Lens, best: _Best) -> pl.DataFrame:
    rows = [
        {
            "layer": layer,
            "moment": moment,
            "rank": rank,
            "token_id": int(lens.vocabulary.ids[row]),
            "probability": share,
        }
        for (layer, moment), tokens in sorted(
            best.by_moment.items(), key=lambda one: (one[0][0], MOMENTS.index(one[0][1]))
        )
        for rank, (row, share) in enumerate(zip(*tokens, strict=True), start=1)
    ]
    return pl.DataFrame(rows, schema=dict(TRACE_TOKENS.columns))


def _neurons_frame(
    lens: Lens,
    layers: Sequence[Layer],
    readings: Readings,
    transformer: Transformer,
    chosen: Int[Tensor, " one"] | None,
    *,
    centre: Float[Tensor, " d_model"],
) -> pl.DataFrame:
    scored, vectors, tokens = list(score(lens, layers, readings, transformer)), [], []
    for number, layer in enumerate(layers):
        vectors.append(transformer.value_vectors(number)[layer.neurons[0, :N_DOMINANT]])
        names = {"candidate": readings.tops[:, number, 0], "final": readings.final}
        tokens.append(names if chosen is None else names | {"token": chosen})
    written = written_ranks(
        lens,
        torch.cat([layer.written[0, :N_DOMINANT] for layer in layers]),
        torch.cat(vectors),
        torch.cat([torch.cat([*one.values()]).expand(len(v), -1) for one, v in zip(tokens, vectors, strict=True)]),
    )
    ranked, frames = iter(written), []
    readers = _direct_readers(lens, layers[-1].post, {"final": readings.final, "token": chosen}, centre=centre)
    for number, (layer, scores, values, names) in enumerate(zip(layers, scored, vectors, tokens, strict=True)):
        mask = layer.is_there[0, :N_DOMINANT].cpu().numpy()
        total = float(layer.total[0])
        size = layer.contributions[0, :N_DOMINANT].cpu().numpy()[mask]
        coefficients = layer.coefficients[0, :N_DOMINANT]
        # What is added to every token alike moves none of them.
        common = layer.written[0, :N_DOMINANT] * (values @ centre)
        raw = {"candidate": scores.candidate.raw, "final": scores.final.raw}
        if chosen is not None:
            raw["token"] = picked_scores(lens, layer, transformer.value_vectors(number), chosen).raw
        columns = {
            "layer": [number] * int(mask.sum()),
            "rank": np.arange(1, int(mask.sum()) + 1),
            "neuron": layer.neurons[0, :N_DOMINANT].cpu().numpy()[mask],
            "coefficient": coefficients.cpu().numpy()[mask],
            "contribution": size,
            "share": size.astype(np.float64) / total if total > 0 else [None] * len(size),
        }
        by_token = dict(zip(names, zip(*islice(ranked, len(values)), strict=True), strict=True))
        for name in ("candidate", "final", "token"):
            one = raw[name][0, :N_DOMINANT] if name in raw else coefficients
            nothing = [None] * len(size)
            columns[f"score_{name}"] = one.cpu().numpy()[mask] if name in raw else nothing
            columns[f"centred_{name}"] = (one - common).cpu().numpy()[mask] if name in raw else nothing
            columns[f"rank_{name}"] = list(compress(by_token[name], mask)) if name in by_token else nothing
        for name in ("final", "token"):
            direct = layer.written[0, :N_DOMINANT] * (values @ readers[name]) if name in readers else None
            columns[f"direct_{name}"] = [None] * len(size) if direct is None else direct.cpu().numpy()[mask]
        frames.append(pl.DataFrame(columns).cast(pl.Schema(TRACE_NEURONS.columns)).select(list(TRACE_NEURONS.columns)))
    return pl.concat(frames)


def _direct_readers(
    lens: Lens,
    last: Float[Tensor, "one d_model"],
    tokens: Mapping[str, Int[Tensor, " one"] | None],
    *,
    centre: Float[Tensor, " d_model"],
) -> dict[str, Float[Tensor, " d_model"]]:
    """By name [d_model] what reads in the last stream the logit of a token less the mean over all."""
    rows = {name: lens.vocabulary.rows[token] - centre for name, token in tokens.items() if token is not None}
    return {name: lens.readers(row, last)[0] for name, row in rows.items()}


# Scores of so many neurons for the whole vocabulary are held at once: 50 MB for the 50,265 tokens of OPT.
_BLOCK = 256


def written_ranks(
    lens: Lens,
    coefficients: Float[Tensor, " neurons"],
    values: Float[Tensor, "neurons d_model"],
    rows: Int[Tensor, "neurons tokens"],
) -> list[list[int | None]]:
    """Of each neuron the ranks of some tokens among all by m (e . v), from 1; None where m is 0."""
    result: list[list[int | None]] = []
    parts = (torch.split(one, _BLOCK) for one in (coefficients, values, rows))
    for m, vectors, tokens in zip(*parts, strict=True):
        scores = (m[:, None] * vectors) @ lens.vocabulary.rows.T
        of_tokens = ranks(scores, tokens).tolist()
        result += [
            ranks_here if one else [None] * len(ranks_here)
            for ranks_here, one in zip(of_tokens, m.tolist(), strict=True)
        ]
    return result


def raising_rows(
    lens: Lens,
    transformer: Transformer,
    layers: Sequence[Layer],
    everywhere: Sequence[AllNeurons],
    *,
    raised: Int[Tensor, " one"],
    centre: Float[Tensor, " d_model"],
    limit: int,
    sort: RaisingOrder,
) -> list[dict[str, Any]]:
    """The first rows of TRACE_RAISING, without effects.

    A neuron raises the token if m (e . v) exceeds its mean over the vocabulary: what is added to every token alike
    moves none of them. Sorted by `direct`, it does if what it adds to its logit exceeds that, through the final norm.

    Args:
        lens: the end of the model.
        transformer: the model.
        layers: every layer at the position.
        everywhere: all neurons of each layer there.
        raised: the token, as a row of the vocabulary.
        centre: the mean of the tokens' embeddings.
        limit: how many rows.
        sort: which come first; of equal ones the lower layer and neuron.
    """
    reader = lens.vocabulary.rows[raised[0]]
    through = lens.readers((reader - centre)[None], layers[-1].post)[0]
    readers = torch.stack([reader, centre, through], dim=1)
    rows: list[dict[str, Any]] = []
    written: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}
    for number, (layer, neurons_there) in enumerate(zip(layers, everywhere, strict=True)):
        values = transformer.value_vectors(number)
        raw, common, direct = (neurons_there.written[:, None] * (values @ readers)).T
        size = neurons_there.written.abs() * torch.linalg.vector_norm(values, dim=1)
        columns = {
            "coefficient": neurons_there.coefficients,
            "contribution": size,
            "share": size.double() / layer.total[0],
        }
        columns |= {"score": raw, "centred": raw - common, "direct": direct}
        raises = columns["direct" if sort == "direct" else "centred"] > 0
        keys = torch.where(raises, columns[sort].double(), -torch.inf)
        first = keys.sort(descending=True, stable=True).indices[: min(limit, int(raises.sum()))]
        parts = zip(first.tolist(), neurons_there.written[first], values[first], strict=True)
        written |= {(number, neuron): (multiplier, vector) for neuron, multiplier, vector in parts}
        lists = {"neuron": first.tolist(), **{name: one[first].tolist() for name, one in columns.items()}}
        rows += [
            {"layer": number, **dict(zip(lists, cells, strict=True))} for cells in zip(*lists.values(), strict=True)
        ]
    rows.sort(key=lambda row: (-row[sort], row["layer"], row["neuron"]))
    rows = [{"rank": rank, **row} for rank, row in enumerate(rows[:limit], start=1)]
    if rows:
        multipliers, vectors = zip(*(written[row["layer"], row["neuron"]] for row in rows), strict=True)
        token = raised.expand(len(rows), -1)
        for row, (rank,) in zip(
            rows, written_ranks(lens, torch.stack(multipliers), torch.stack(vectors), token), strict=True
        ):
            row |= {"token_rank": rank, "probability_off": None, "logit_off": None}
    return rows


def add_effects_(
    lens: Lens,
    transformer: Transformer,
    rows: Sequence[dict[str, Any]],
    *,
    ids: Int[np.ndarray, " time"],
    raised: Int[Tensor, " one"],
) -> None:
    """Fill in what the token's probability and logit are with the neuron of each row set to 0 at every position."""
    ablations = [Ablation(row["layer"], row["neuron"], 0.0) for row in rows]
    changes = [{one.layer: one.change(transformer.device)} for one in ablations]
    _, *streams = last_streams(transformer, ids, changes).streams
    for row, stream in zip(rows, streams, strict=True):
        row["logit_off"], row["probability_off"] = said_of(lens, stream, raised)


def said_of(lens: Lens, stream: Float[Tensor, "one d_model"], row: Int[Tensor, " one"]) -> tuple[float, float]:
    """Logit and probability of a token, a row of the vocabulary, where a stream leaves the last block."""
    logits = lens.logits(stream)[0].double()
    return float(logits[row[0]]), float(logits.softmax(0)[row[0]])


State = Float[Tensor, "one d_model"]


def states_frame(
    lens: Lens,
    states: Sequence[State],
    matrices: Sequence[Float[np.ndarray, "d_model d_model"]],
    *,
    final: Int[Tensor, " one"],
    chosen: Int[Tensor, " one"] | None,
    top: int,
) -> pl.DataFrame:
    """Rows of TRACE_STATES; none without matrices.

    Args:
        lens: the model's end.
        states: all of them, from the embeddings to what leaves the last block.
        matrices: of each state but the last one: what leads to that.
        final: row of the token that the model predicts.
        chosen: row of a token that was asked about.
        top: how many tokens are listed.
    """
    rows = [
        {"state": number, "method": method, **_state_columns(lens, state, final=final, chosen=chosen, top=top)}
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


def _state_columns(
    lens: Lens, state: State, *, final: Int[Tensor, " one"], chosen: Int[Tensor, " one"] | None, top: int
) -> dict[str, object]:
    logits = lens.logits(state)
    best = top_rows(logits, top)
    columns = {
        "final_rank": int(ranks(logits, final[:, None])[0, 0]),
        "token_rank": None if chosen is None else int(ranks(logits, chosen[:, None])[0, 0]),
        "token_ids": lens.vocabulary.ids[best[0].cpu().numpy()].tolist(),
    }
    # The logits are used up.
    return columns | {"probabilities": probabilities_(logits, best, largest=logits.amax(1))[0].tolist()}
