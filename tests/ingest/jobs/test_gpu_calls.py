"""What observers ask of a GPU: the same numbers, in calls that grow with the sequences and not with the neurons."""

from dataclasses import replace
from unittest.mock import Mock

import polars as pl
import pytest
import torch
from torch import Tensor

from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.jobs.job import SweepJob
from neurothek.ingest.jobs.registry import NAMES, job_class
from neurothek.ingest.models.transformer import Shape
from neurothek.ingest.request import IngestRequest
from tests.support.coefficients import coefficients, corpus, output_of, padded
from tests.support.jobs import context_of
from tests.support.pretended_gpu import GPU, Calls, pretended_gpu

SWEPT = [name for name in NAMES if issubclass(job_class(name), SweepJob)]
TEXT = corpus([("a", 300)] * 4 + [("b", 300)] * 2 + [("b", 41)] * 2)
BATCH_TOKENS = 1_200

SHAPE = Shape(
    architecture="opt",
    activation="relu",
    norm_position="pre",
    position_encoding="learned",
    n_layers=1,
    d_model=8,
    d_ffn=20,
    n_heads=1,
    vocab_size=390,
    context_length=300,
    n_parameters=1,
    n_parameters_embedding=1,
    has_exact_zeros=True,
    has_parallel_residual=False,
    settings="",
)


def observer(name: str, shape: Shape, values: Tensor) -> Observer:
    context = context_of(TEXT, shape=shape)
    assert isinstance(context.transformer, Mock)
    context.transformer.value_vectors.return_value = values
    job = job_class(name).from_options(context, IngestRequest())
    assert isinstance(job, SweepJob)
    return job.observer(0)


def observed(name: str, shape: Shape, *, on_gpu: bool) -> tuple[pl.DataFrame, Calls]:
    """What the observer of a job saw, and what it asked of the GPU for the last of its batches."""
    device = torch.device(GPU if on_gpu else "cpu")
    with pytest.MonkeyPatch.context() as patch, pretended_gpu():
        # Where a model lies its own numbers lie.
        scales, values = torch.linspace(0.1, 1, shape.d_ffn).to(device), torch.ones(shape.d_ffn, 1).to(device)
        for module in ("job", "poles.job"):
            patch.setattr(f"neurothek.ingest.jobs.{module}.root_mean_square", lambda *_, **__: scales)
        watching = observer(name, shape, values)
    made = coefficients(TEXT, shape.d_ffn, share=0.2, relu=shape.has_exact_zeros)
    shown = padded(TEXT, range(TEXT.n_sequences), made, batch_tokens=BATCH_TOKENS)
    assert len(shown) > 1
    with torch.inference_mode(), pretended_gpu() as calls:
        for batch, tensor in shown:
            there = tensor.to(GPU) if on_gpu else tensor
            calls.made.clear()
            calls.waited.clear()
            watching.observe(batch, output_of(there))
        of_a_batch = Calls(calls.made.copy(), calls.waited.copy())
        return watching.result(), of_a_batch


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("name", SWEPT)
def test_an_observer_sees_the_same_on_a_gpu(name: str, activation: str) -> None:
    shape = replace(SHAPE, activation=activation, has_exact_zeros=activation == "relu")
    expected, found = (observed(name, shape, on_gpu=on_gpu)[0] for on_gpu in (False, True))
    # Coefficients are multiples of 1/16, whose sums are exact in any order.
    assert found.equals(expected)


@pytest.mark.parametrize("name", SWEPT)
def test_a_wider_layer_takes_no_more_calls(name: str) -> None:
    narrow, wide = (observed(name, replace(SHAPE, d_ffn=d_ffn), on_gpu=True)[1] for d_ffn in (40, 400))
    assert sum(narrow.made.values()) > 0
    assert wide.made == narrow.made


@pytest.mark.parametrize("name", [name for name in SWEPT if name != "contexts"])
def test_nothing_of_a_batch_is_waited_for(name: str) -> None:
    """What a GPU has found is fetched once for a chunk; in between nobody keeps it from its work."""
    assert observed(name, SHAPE, on_gpu=True)[1].waited == {}
