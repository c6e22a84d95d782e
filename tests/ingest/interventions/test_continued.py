"""Continuations, against transformers' own models whose weights were edited by hand, one forward pass a token."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import MistralConfig, MistralForCausalLM

from neurothek.ingest.interventions.changed import Changes
from neurothek.ingest.interventions.continued import BATCH_PROMPTS, CachedPass, Writing, continued, same_lengths
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Change, Transformer, open_transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from tests.support.anatomy import PLACES, loaded
from tests.support.models import CAUSAL_KINDS, build
from tests.support.tokenizers import make_tokenizer

N_LAYERS, D_FFN, LENGTH = 3, 24, 9
PROMPTS = np.random.default_rng(11).integers(5, 390, size=(3, 7))


@pytest.fixture(scope="module", params=CAUSAL_KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("continued") / request.param
    return build(place, request.param, n_layers=N_LAYERS, d_ffn=D_FFN, seed=3)


@pytest.fixture(scope="module")
def transformer(folder: Path) -> Transformer:
    return open_transformer(find(str(folder)))


def sayable(transformer: Transformer) -> Tensor:
    return torch.ones(transformer.shape.vocab_size, dtype=torch.bool)


def written(
    folder: Path,
    prompts: np.ndarray = PROMPTS,
    *,
    off: Mapping[int, Sequence[int]] | None = None,
    draw: tuple[float, int] | None = None,
    unsayable: Sequence[int] = (),
) -> list[list[int]]:
    """One prompt and one token after the other, all of the text through the model each time."""
    model = loaded(folder)
    places = PLACES[model.config.model_type]
    for layer, neurons in (off or {}).items():
        weight = model.get_submodule(f"{places.blocks}.{layer}.{places.values}").weight
        assert isinstance(weight, Tensor)
        with torch.no_grad():
            for neuron in neurons:
                (weight[neuron] if places.is_transposed else weight[:, neuron]).zero_()
    found = []
    for number, prompt in enumerate(prompts.tolist()):
        ids = list(prompt)
        for step in range(LENGTH):
            with torch.no_grad():
                logits = model(torch.tensor(ids)[None]).logits[0, -1].double().numpy()
            logits[list(unsayable)] = -np.inf
            if draw is not None:
                temperature, seed = draw
                noise = random_stream(seed, Purpose.CONTINUATION, number, step).gumbel(size=len(logits))
                logits = logits / temperature + noise
            ids.append(int(logits.argmax()))
        found.append(ids[len(prompt) :])
    return found


def turned_off(off: Mapping[int, Sequence[int]]) -> Changes:
    return {layer: Change(torch.tensor(some), torch.zeros(len(some))) for layer, some in off.items()}


def test_the_most_probable_tokens_of_the_model_as_it_is(folder: Path, transformer: Transformer) -> None:
    found = continued(transformer, PROMPTS, [0, 1, 2], Writing(LENGTH), sayable=sayable(transformer), end=None)
    assert [row.tolist() for row in found] == written(folder)


def test_turned_off_is_a_row_of_zeros(folder: Path, transformer: Transformer) -> None:
    off = {0: range(0, 12), 2: range(6, 24)}
    found = continued(
        transformer,
        PROMPTS,
        [0, 1, 2],
        Writing(LENGTH),
        sayable=sayable(transformer),
        end=None,
        changes=turned_off({layer: list(some) for layer, some in off.items()}),
    )
    expected = written(folder, off={layer: list(some) for layer, some in off.items()})
    assert [row.tolist() for row in found] == expected
    assert expected != written(folder)


def test_positions_go_on_behind_the_prompt(transformer: Transformer) -> None:
    """Changed from position 9 on, the first three tokens after a prompt of seven are those of the model as it is."""
    writing, said = Writing(LENGTH), sayable(transformer)
    off = torch.zeros(D_FFN)

    def texts(**how: object) -> list[list[int]]:
        changes = {layer: Change(torch.arange(D_FFN), off, **how) for layer in range(N_LAYERS)}  # type: ignore[arg-type]  # fields of a change
        found = continued(transformer, PROMPTS, [0, 1, 2], writing, sayable=said, end=None, changes=changes)
        return [row.tolist() for row in found]

    plain = [row.tolist() for row in continued(transformer, PROMPTS, [0, 1, 2], writing, sayable=said, end=None)]
    late = texts(positions=range(9, 100))
    assert [row[:3] for row in late] == [row[:3] for row in plain]
    assert late != plain
    assert texts(positions=range(100)) == texts()
    assert texts(positions=range(90, 100)) == plain


def test_drawn_tokens_follow_the_noise_of_their_prompt(folder: Path, transformer: Transformer) -> None:
    writing = Writing(LENGTH, temperature=0.7, seed=5)
    found = continued(transformer, PROMPTS, [0, 1, 2], writing, sayable=sayable(transformer), end=None)
    assert [row.tolist() for row in found] == written(folder, draw=(0.7, 5))
    alone = continued(transformer, PROMPTS[2:], [2], writing, sayable=sayable(transformer), end=None)
    assert alone[0].tolist() == found[2].tolist()


def test_draws_have_the_probabilities_of_the_softmax(transformer: Transformer) -> None:
    """The first token of 4,000 draws: a token's share is its probability but for chance."""
    n = 4_000
    prompts = np.repeat(PROMPTS[:1], n, axis=0)
    writing = Writing(1, temperature=0.5)
    first = continued(transformer, prompts, range(n), writing, sayable=sayable(transformer), end=None)
    logits = CachedPass(transformer, {}).next_logits(torch.from_numpy(PROMPTS[:1]))[0]
    p = (logits.double() / 0.5).softmax(-1).numpy()
    counts = np.bincount(np.concatenate(first), minlength=len(p))
    assert (np.abs(counts - n * p) < 5 * np.sqrt(n * p) + 5).all()


def test_what_is_no_token_is_never_said(folder: Path, transformer: Transformer) -> None:
    said = written(folder)
    forbidden = sorted({token for row in said for token in row})
    allowed = sayable(transformer)
    allowed[forbidden] = False
    found = continued(transformer, PROMPTS, [0, 1, 2], Writing(LENGTH), sayable=allowed, end=None)
    assert [row.tolist() for row in found] == written(folder, unsayable=forbidden)


def test_a_text_ends_before_the_id_that_ends_it(folder: Path, transformer: Transformer) -> None:
    said = written(folder)
    end = said[0][3]
    found = continued(transformer, PROMPTS, [0, 1, 2], Writing(LENGTH), sayable=sayable(transformer), end=end)
    assert [row.tolist() for row in found] == [row[: row.index(end)] if end in row else row for row in said]


def test_logits_may_be_adjusted_by_what_was_said(folder: Path, transformer: Transformer) -> None:
    """No token twice: each row's own ids are forbidden to it."""

    def adjust(ids: Tensor, logits: Tensor) -> Tensor:
        return logits.scatter(1, ids, -torch.inf)

    found = continued(
        transformer, PROMPTS, [0, 1, 2], Writing(LENGTH), sayable=sayable(transformer), end=None, adjust=adjust
    )
    for prompt, row in zip(PROMPTS.tolist(), found, strict=True):
        whole = [*prompt, *row.tolist()]
        assert len(set(whole[len(prompt) :])) == LENGTH
        assert not set(prompt) & set(row.tolist())


def test_weights_that_are_read_anew_say_the_same(folder: Path, transformer: Transformer) -> None:
    streamed = open_transformer(find(str(folder)), resident=False)
    both = [
        continued(one, PROMPTS, [0, 1, 2], Writing(LENGTH), sayable=sayable(one), end=None)
        for one in (transformer, streamed)
    ]
    assert np.array_equal(both[0], both[1])


def test_a_window_forgets(tmp_path: Path) -> None:
    """Attention that sees four positions, beyond which the cache holds more than it looks at."""
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=400,
        hidden_size=32,
        intermediate_size=D_FFN,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        sliding_window=4,
        initializer_range=0.4,
    )
    MistralForCausalLM(config).save_pretrained(tmp_path)
    make_tokenizer("llama", 392).save_pretrained(tmp_path)
    transformer = open_transformer(find(str(tmp_path)))
    found = continued(transformer, PROMPTS, [0, 1, 2], Writing(LENGTH), sayable=sayable(transformer), end=None)
    assert [row.tolist() for row in found] == written(tmp_path)


def test_prompts_of_one_length_go_together() -> None:
    lengths = [3, 5, 3, 5, 5, 1, *[3] * BATCH_PROMPTS]
    groups = list(same_lengths([np.zeros(length, dtype=np.int32) for length in lengths]))
    assert sorted(number for group in groups for number in group) == list(range(len(lengths)))
    for group in groups:
        assert len({lengths[number] for number in group}) == 1
        assert len(group) <= BATCH_PROMPTS
        assert group == sorted(group)
    assert len(groups) == 4
