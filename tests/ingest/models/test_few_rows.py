"""Products of weights with few vectors: those of torch, whatever way they are taken."""

import pytest
import torch
from torch.nn import functional

from neurothek.ingest.models.families.few_rows import FEW, linear


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_few_vectors_have_the_products_of_many(dtype: torch.dtype, *, has_bias: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(70, 33, generator=generator), torch.randn(70, generator=generator)
    for batch in range(1, FEW + 3):
        stream = torch.randn(batch, 1, 33, generator=generator)
        found = linear(stream.to(dtype), weight.to(dtype), bias.to(dtype) if has_bias else None)
        exact = [
            [sum(float(w) * float(x) for w, x in zip(row, text[0].to(dtype), strict=True)) for row in weight.to(dtype)]
            for text in stream
        ]
        expected = torch.tensor(exact) + (bias.to(dtype).float() if has_bias else 0)
        assert found.shape == (batch, 1, 70)
        assert found.is_contiguous()
        assert torch.allclose(found[:, 0].float(), expected, rtol=0, atol=1e-5 if dtype is torch.float32 else 0.15)


def test_whole_texts_have_the_bits_of_torch() -> None:
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(70, 33, generator=generator)
    for batch, time in ((1, 1), (1, 2), (2, 3), (FEW, 9), (FEW + 1, 1)):
        stream = torch.randn(batch, time, 33, generator=generator)
        assert torch.equal(linear(stream, weight, None), functional.linear(stream, weight))
