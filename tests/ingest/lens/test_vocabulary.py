"""Rows without a token are left out."""

import numpy as np
import torch

from neurothek.ingest.lens.vocabulary import Vocabulary

UNEMBEDDING = torch.arange(12.0).view(6, 2)


def test_rows_after_the_last_token_are_left_out_without_a_copy() -> None:
    vocabulary = Vocabulary.of(UNEMBEDDING, np.arange(4, dtype=np.int32))
    assert vocabulary.rows.tolist() == UNEMBEDDING[:4].tolist()
    assert vocabulary.rows.data_ptr() == UNEMBEDDING.data_ptr()


def test_rows_between_tokens_are_left_out() -> None:
    vocabulary = Vocabulary.of(UNEMBEDDING, np.array([0, 2, 3, 5], dtype=np.int32))
    assert vocabulary.rows.tolist() == UNEMBEDDING[[0, 2, 3, 5]].tolist()
    assert vocabulary.ids.tolist() == [0, 2, 3, 5]
