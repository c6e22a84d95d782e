"""The effect of setting neurons on the next token, compared with random neurons of the same layers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.problems import Invalid, LimitExceeded, Unsupported
from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.catalog.tables.traces import (
    SWITCH_NEURONS,
    SWITCH_SETS,
    SWITCH_TEXTS,
    SWITCH_TOKENS,
    Switched,
    SwitchedTogether,
)
from neurothek.ingest.errors import no_value_before_gates
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.interventions.continued import Writing
from neurothek.ingest.interventions.prompt_ids import PromptIds, continue_prompts
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Change, RowChanges, Transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from neurothek.ingest.trace.open_models import ids_of, place_of

N_CHANGED = 10
"""Tokens whose change is listed."""


@dataclass(frozen=True)
class Ablation:
    """One neuron and the value that it is set to."""

    layer: int  # its layer
    neuron: int  # its place in the layer
    value: float  # what it is set to, at every position
    is_before: bool = False  # whether before the non-linearity, or after it; neurons with gates know only the latter

    def change(self, device: torch.device) -> Change:
        """What becomes of the neuron in its block."""
        return self.of([self.neuron], device)

    def of(self, neurons: Sequence[int], device: torch.device) -> Change:
        """The same done to some neurons of a block."""
        values = torch.full((len(neurons),), self.value, device=device)
        return Change(torch.tensor(list(neurons), device=device), values, is_before=self.is_before)


def ablated(
    transformer: Transformer,
    tokenizer: Tokenizer,
    prompt: str,
    ablation: Ablation,
    *,
    position: int | None = None,
    firing: Sequence[int] = (),
    n_random: int = 20,
    seed: int = 0,
    continuation: int = 0,
) -> Switched:
    """The next token of a prompt with a neuron set to a value, and with each of some random ones set to it ([ours]).

    Setting a neuron is [G] 6.1's; one prompt, the divergence and the random neurons are ours.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        prompt: the text; a BOS is put in front where the tokenizer does so.
        ablation: the neuron and its value.
        position: the position after which the next token is read, as `trace` takes it; None: the last.
        firing: neurons of the layer that random ones are drawn from where too few are active on the prompt; none: all.
        n_random: how many random neurons; fewer where there are fewer.
        seed: of their draw.
        continuation: how many tokens the model writes then, the most probable ones; 0: none.
    """
    require_possible(transformer, ablation)
    ids, place = _read(transformer, tokenizer, prompt, position=position, continuation=continuation)
    # Attention looks back only: what comes after the position changes nothing there.
    layer, draw = ablation.layer, random_stream(seed, Purpose.SWITCH, ablation.layer, ablation.neuron)
    pool = _pools(transformer, ids[: place + 1], {layer: [ablation.neuron]}, {layer: firing})[layer]
    neurons = [ablation.neuron, *pool.drawn(draw, n_random)]
    changes = [{ablation.layer: replace(ablation, neuron=neuron).change(transformer.device)} for neuron in neurons]
    streams = last_streams(transformer, ids[: place + 1], changes)
    lens = Lens.of(transformer, tokenizer)
    log_probabilities = _log_probabilities(lens, streams.streams, ablation.value)
    beside = _Beside(lens.vocabulary.ids, neurons, log_probabilities, streams.coefficients[ablation.layer])
    median = beside.median()
    compared = {"changed": changes[0], "random": changes[median]}
    top = int(log_probabilities[0].argmax())
    return Switched(
        tokens=tokenizer.texts(ids),
        position=place,
        layer=ablation.layer,
        neuron=ablation.neuron,
        value=ablation.value,
        is_before=ablation.is_before,
        token=int(lens.vocabulary.ids[top]),
        probability=float(log_probabilities[0][top].exp()),
        n_candidates=pool.n_candidates(n_random),
        n_active=len(pool.active),
        percentile=beside.percentile(),
        median_neuron=neurons[median],
        neurons=SWITCH_NEURONS.check(beside.neurons_frame()),
        changes=SWITCH_TOKENS.check(pl.concat([beside.changes_frame(0), beside.changes_frame(median)])),
        texts=_texts(transformer, tokenizer, ids[: place + 1], compared, continuation),
    )


def ablated_together(
    transformer: Transformer,
    tokenizer: Tokenizer,
    prompt: str,
    ablations: Sequence[Ablation],
    *,
    position: int | None = None,
    firing: Mapping[int, Sequence[int]],
    n_random: int = 20,
    seed: int = 0,
    continuation: int = 0,
) -> SwitchedTogether:
    """The next token of a prompt with some neurons set to a value: each alone, all together, and random sets ([ours]).

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        prompt: the text; a BOS is put in front where the tokenizer does so.
        ablations: the neurons, each once, all set to one value in one way.
        position: the position after which the next token is read, as `trace` takes it; None: the last.
        firing: by layer neurons that random ones are drawn from where too few are active on the prompt; none: all.
        n_random: how many random sets, each of as many neurons of each layer.
        seed: of their draw.
        continuation: how many tokens the model writes with all together changed; 0: none.
    """
    first = ablations[0]
    require_possible(transformer, first)
    chosen: dict[int, list[int]] = {}
    for one in ablations:
        chosen.setdefault(one.layer, []).append(one.neuron)
    ids, place = _read(transformer, tokenizer, prompt, position=position, continuation=continuation)
    pools = _pools(transformer, ids[: place + 1], chosen, firing)
    sets = [*({one.layer: [one.neuron]} for one in ablations), chosen]
    sets += _random_sets(chosen, pools, n_random=n_random, seed=seed)
    changes = [{layer: first.of(neurons, transformer.device) for layer, neurons in one.items()} for one in sets]
    streams = last_streams(transformer, ids[: place + 1], changes)
    lens = Lens.of(transformer, tokenizer)
    log_probabilities = _log_probabilities(lens, streams.streams, first.value)
    # The sets stand in the place of neurons of one layer.
    beside = _Beside(lens.vocabulary.ids, list(range(len(sets))), log_probabilities, torch.zeros(len(sets)))
    coefficients = [float(streams.coefficients[one.layer][one.neuron]) for one in ablations]
    top, n, kl = int(log_probabilities[0].argmax()), len(ablations), beside.divergences
    drawn_by_kl = _descending(kl, n + 1)
    compared = {"changed": changes[n], "random": changes[drawn_by_kl[(len(drawn_by_kl) - 1) // 2]]}
    rows = _set_rows(lens, log_probabilities, kl, n_alone=n)
    for row, one, m in zip(rows, ablations, coefficients, strict=False):
        row |= {"layer": one.layer, "neuron": one.neuron, "coefficient": m}
    return SwitchedTogether(
        tokens=tokenizer.texts(ids),
        position=place,
        value=first.value,
        is_before=first.is_before,
        token=int(lens.vocabulary.ids[top]),
        probability=float(log_probabilities[0][top].exp()),
        percentile=percentile_of(kl[n], kl[n + 1 :]),
        sets=SWITCH_SETS.check(pl.DataFrame(rows, schema=dict(SWITCH_SETS.columns))),
        changes=SWITCH_TOKENS.check(beside.changes_frame(n).with_columns(neuron=pl.lit(0, pl.Int32))),
        texts=_texts(transformer, tokenizer, ids[: place + 1], compared, continuation),
    )


def _set_rows(
    lens: Lens, log_probabilities: Sequence[Float[Tensor, " vocab"]], kl: Sequence[float], *, n_alone: int
) -> list[dict[str, Any]]:
    """Rows of SWITCH_SETS without what is known of single neurons: each alone, all together, random sets by divergence.

    Args:
        lens: the end of the model.
        log_probabilities: log-probabilities of the untouched model, then one a set.
        kl: the divergence of each set.
        n_alone: how many sets are one neuron; all together follow.
    """
    token = int(log_probabilities[0].argmax())
    rows: list[dict[str, Any]] = []
    for at in (*range(n_alone + 1), *_descending(kl, n_alone + 1)):
        after = log_probabilities[at + 1]
        now = int(after.argmax())
        row: dict[str, Any] = {
            "place": len(rows),
            "kind": "alone" if at < n_alone else "together" if at == n_alone else "random",
        }
        row |= {"kl": kl[at], "probability_of_token": float(after[token].exp())}
        rows.append(row | {"token_id": int(lens.vocabulary.ids[now]), "probability": float(after[now].exp())})
    return rows


def _descending(kl: Sequence[float], first: int) -> list[int]:
    """Places from `first` on, the largest divergence first."""
    return sorted(range(first, len(kl)), key=lambda at: (-kl[at], at))


def _texts(
    transformer: Transformer,
    tokenizer: Tokenizer,
    ids: Int[np.ndarray, " time"],
    compared: Mapping[str, Mapping[int, Change]],
    length: int,
) -> pl.DataFrame:
    """Rows of SWITCH_TEXTS: what the model writes after some ids, untouched and with each set of changes.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        ids: what it has read.
        compared: by the kind of its row what is changed, by layer.
        length: how many tokens it writes at most, the most probable ones; 0: no row.
    """
    rows: list[tuple[str, str, int]] = []
    if length:
        variants: dict[str, Mapping[int, Change]] = {"untouched": {}, **compared}
        by_layer: dict[int, dict[int, Change]] = {}
        for row, changes in enumerate(variants.values()):
            for layer, change in changes.items():
                by_layer.setdefault(layer, {})[row] = change
        # All are written together: a pass of one token takes as long as the weights take to be read.
        prompts = PromptIds((ids,) * len(variants), ())
        together = {layer: RowChanges(by_row) for layer, by_row in by_layer.items()}
        written = continue_prompts(transformer, tokenizer, prompts, Writing(length), changes=together)
        rows = [(kind, one.text, one.n_tokens) for kind, one in zip(variants, written, strict=True)]
    return SWITCH_TEXTS.check(pl.DataFrame(rows, schema=dict(SWITCH_TEXTS.columns), orient="row"))


def _read(
    transformer: Transformer, tokenizer: Tokenizer, prompt: str, *, position: int | None, continuation: int
) -> tuple[Int[np.ndarray, " time"], int]:
    """The ids of a prompt, and a position after which the model's context has room for so many tokens."""
    context_length = transformer.shape.context_length
    ids = ids_of(tokenizer, prompt, context_length=context_length)
    place = place_of(ids, position)
    room = context_length - place - 1
    if continuation > room:
        raise LimitExceeded(
            f"{continuation} tokens cannot be written after position {place}: the model's context of {context_length}"
            f" has room for {room}",
            "ask for fewer, or shorten the prompt",
            what="tokens",
            needed=continuation,
            limit=room,
        )
    return ids, place


@torch.inference_mode()
def active_on(
    transformer: Transformer, ids: Int[np.ndarray, " time"], layers: Collection[int]
) -> dict[int, Int[np.ndarray, " active"]]:
    """By layer the neurons that are active on a prompt, by the rule of the architecture: at any of its positions.

    Of the last layer at the last one alone, as nothing above brings there what is written elsewhere.
    """
    rule, active = ActivationRule.of(transformer.shape), {}
    stream = transformer.embed(torch.from_numpy(ids.astype(np.int64))[None].to(transformer.device))
    for layer in range(max(layers) + 1):
        with transformer.block(layer) as block:
            output = block(stream)
        if layer in layers:
            first = -1 if layer == transformer.shape.n_layers - 1 else 0
            gates = None if output.gates is None else output.gates[0, first:].float()
            decisive = rule.decisive(output.coefficients[0, first:].float(), gates)
            active[layer] = np.flatnonzero(rule.active(decisive).any(0).cpu().numpy())
        stream = output.stream
    return active


@dataclass(frozen=True, eq=False)
class _Pool:
    """Neurons of a layer among which random ones are drawn: those that are active on the prompt, before the others."""

    active: Int[np.ndarray, " active"]  # active at some position of it, in ascending order
    others: Int[np.ndarray, " others"]  # drawn where those are too few: what fires on the corpus, or all there are

    @classmethod
    def of(
        cls, layer: int, neurons: Sequence[int], active: Int[np.ndarray, " _"], firing: Sequence[int], d_ffn: int
    ) -> "_Pool":
        """Beside some neurons of a layer, as many as these at least."""
        first = np.setdiff1d(active, neurons)
        for more in (np.array(firing, dtype=np.int64), np.arange(d_ffn)):
            others = np.setdiff1d(more, [*neurons, *first])
            if len(more) and len(first) + len(others) >= len(neurons):
                return cls(first, others)
        raise _no_other_neurons(layer)

    def drawn(self, draw: np.random.Generator, n: int) -> list[int]:
        """`n` of them, or all there are."""
        first: list[int] = draw.choice(self.active, size=min(n, len(self.active)), replace=False).tolist()
        n_more = min(n - len(first), len(self.others))
        more: list[int] = draw.choice(self.others, size=n_more, replace=False).tolist() if n_more else []
        return first + more

    def n_candidates(self, n: int) -> int:
        """How many neurons `n` are drawn from."""
        return len(self.active) + (len(self.others) if n > len(self.active) else 0)


def _pools(
    transformer: Transformer,
    ids: Int[np.ndarray, " time"],
    chosen: Mapping[int, Sequence[int]],
    firing: Mapping[int, Sequence[int]],
) -> dict[int, _Pool]:
    """By layer the pool beside its chosen neurons."""
    active, d_ffn = active_on(transformer, ids, chosen.keys()), transformer.shape.d_ffn
    return {
        layer: _Pool.of(layer, neurons, active[layer], firing.get(layer, ()), d_ffn)
        for layer, neurons in chosen.items()
    }


def _random_sets(
    chosen: Mapping[int, Sequence[int]], pools: Mapping[int, _Pool], *, n_random: int, seed: int
) -> list[dict[int, list[int]]]:
    """Sets of as many other neurons of each layer."""
    draws = {layer: random_stream(seed, Purpose.SWITCH, layer, neurons[0]) for layer, neurons in chosen.items()}
    return [
        {layer: pools[layer].drawn(draws[layer], len(neurons)) for layer, neurons in chosen.items()}
        for _ in range(n_random)
    ]


def percentile_of(value: float, others: Sequence[float]) -> float | None:
    """Percent of the others that are smaller; of equal ones half counts; None of fewer than 20."""
    if len(others) < LEAST_SETS:
        return None
    return 100 * sum((one < value) + (one == value) / 2 for one in others) / len(others)


def require_possible(transformer: Transformer, ablation: Ablation) -> None:
    """Refuse an ablation in a model that says no next token, or before a non-linearity with a gate."""
    shape = transformer.shape
    if shape.is_masked:
        raise Unsupported(
            f"{shape.architecture} models are masked ones: they fill in tokens and do not predict the next one, so a"
            " neuron's switch changes none",
            "use a causal model",
            what="architecture",
            name=shape.architecture,
        )
    if shape.is_gated and ablation.is_before:
        raise no_value_before_gates(shape.architecture)


def overflowing_value(value: float) -> Invalid:
    """A value is so large that the model says no finite number."""
    return Invalid(
        f"with a neuron set to {value:g} the numbers of the model overflow",
        "give a value nearer to 0",
        option="value",
        value=value,
    )


def _no_other_neurons(layer: int) -> Unsupported:
    """A neuron has no others of its layer to compare it with."""
    return Unsupported(
        f"layer {layer} has no other neuron, and an effect is shown only beside those of random neurons",
        "choose another layer",
        what="layer",
        name=layer,
    )


@dataclass(frozen=True, eq=False)
class LastStreams:
    """What leaves a model at the last position of a prompt, untouched and with some neurons changed."""

    coefficients: list[Float[Tensor, " d_ffn"]]  # [d_ffn] of each layer its own coefficients there
    # [1 d_model] what leaves the last block: of the untouched model, then one a set of changes
    streams: list[Float[Tensor, "1 d_model"]]


@torch.inference_mode()
def last_streams(
    transformer: Transformer, ids: Int[np.ndarray, " time"], changes: Sequence[Mapping[int, Change]]
) -> LastStreams:
    """Run a prompt as it is, and once with each set of changes.

    Each runs by itself, so that equal ones are equal to the bit; one that its blocks left as it was needs no others.

    Args:
        transformer: the model.
        ids: what it reads.
        changes: of each set what is changed, by layer.
    """
    untouched = transformer.embed(torch.from_numpy(ids.astype(np.int64))[None].to(transformer.device))
    changed: list[Tensor | None] = [None] * len(changes)
    coefficients = []
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            output = block(untouched)
            coefficients.append(output.coefficients[0, -1].float())
            for place, change in enumerate(changes):
                entered = changed[place]
                if layer not in change:
                    changed[place] = None if entered is None else block(entered).stream
                    continue
                with block.changed(change[layer]):
                    after = block(untouched if entered is None else entered).stream
                is_as_it_was = entered is None and torch.equal(after, output.stream)
                changed[place] = None if is_as_it_was else after
            untouched = output.stream
    streams = [untouched, *(untouched if one is None else one for one in changed)]
    return LastStreams(coefficients, [one[:, -1] for one in streams])


@torch.inference_mode()
def _log_probabilities(
    lens: Lens, streams: Sequence[Float[Tensor, "1 d_model"]], value: float
) -> list[Float[Tensor, " vocab"]]:
    """[vocab] of each stream, float64 logarithms of the probabilities of all tokens that have a text."""
    result = [lens.logits(stream)[0].double().log_softmax(0) for stream in streams]
    if not all(one.isfinite().all() for one in result):
        raise overflowing_value(value)
    return result


@dataclass(frozen=True, eq=False)
class _Beside:
    """What is said with each neuron switched, beside what the untouched model says."""

    ids: Int[np.ndarray, " vocab"]  # ids of the tokens
    neurons: Sequence[int]  # the neuron, then the random ones
    log_probabilities: Sequence[Float[Tensor, " vocab"]]  # log-probabilities: of the untouched model, then one a neuron
    coefficients: Float[Tensor, " d_ffn"]  # the layer's coefficients in the untouched model

    @cached_property
    def divergences(self) -> list[float]:
        """KL(untouched || changed) of each neuron, nats."""
        untouched, *changed = self.log_probabilities
        # Where almost nothing changes, rounding leaves a sum just below 0.
        return [max(0.0, float((untouched.exp() * (untouched - one)).sum())) for one in changed]

    def percentile(self) -> float | None:
        """Percent of the random neurons whose divergence is smaller, of equal ones by half; None of fewer than 20."""
        first, *others = self.divergences
        return percentile_of(first, others)

    def median(self) -> int:
        """The place of the random neuron whose divergence is their median, of an even number the lower one."""
        places = self._by_divergence()
        return places[::-1][(len(places) - 1) // 2]

    def neurons_frame(self) -> pl.DataFrame:
        """Rows of SWITCH_NEURONS."""
        kl = self.divergences
        rows = []
        for place in (0, *self._by_divergence()):
            log_probabilities, neuron = self.log_probabilities[place + 1], self.neurons[place]
            top = int(log_probabilities.argmax())
            token, probability = int(self.ids[top]), float(log_probabilities[top].exp())
            rows.append((neuron, place > 0, float(self.coefficients[neuron]), kl[place], token, probability))
        return pl.DataFrame(rows, schema=dict(SWITCH_NEURONS.columns), orient="row")

    def changes_frame(self, place: int) -> pl.DataFrame:
        """Rows of SWITCH_TOKENS of one neuron."""
        before, after = (one.exp().cpu() for one in (self.log_probabilities[0], self.log_probabilities[place + 1]))
        size = (after - before).abs()
        order = size.sort(descending=True, stable=True).indices[:N_CHANGED].tolist()
        rows = [
            (self.neurons[place], rank, int(self.ids[token]), float(before[token]), float(after[token]))
            for rank, token in enumerate(order, start=1)
            if size[token] > 0
        ]
        return pl.DataFrame(rows, schema=dict(SWITCH_TOKENS.columns), orient="row")

    def _by_divergence(self) -> list[int]:
        """Places of the random neurons, the largest divergence first, of equal ones the lower neuron."""
        kl = self.divergences
        return sorted(range(1, len(self.neurons)), key=lambda place: (-kl[place], self.neurons[place]))
