"""Neurons that are turned off side by side are each alone."""

from pathlib import Path

import numpy as np
import pytest
import torch

from neurothek.catalog.tables.interventions import NEURON_EFFECTS, NEURON_EFFECTS_BY_DOMAIN
from neurothek.ingest.interventions.changed import changed_losses
from neurothek.ingest.interventions.first_batches import first_batches
from neurothek.ingest.jobs.neuron_effects import single_losses
from neurothek.ingest.jobs.neuron_effects.single_losses import SingleLoss, effects_frames, without_each
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Change, open_transformer
from tests.support.coefficients import corpus
from tests.support.models import build


def test_side_by_side_is_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = open_transformer(find(str(build(tmp_path / "gpt2", "gpt2", n_layers=2, d_ffn=24, seed=1))))
    text = corpus([("code", 20), ("code", 9), ("prose", 30), ("prose", 30)])
    monkeypatch.setattr(single_losses, "AT_ONCE", 2)
    found = without_each(transformer, text, 1, [3, 4, 9], n_tokens=25)
    names = [None, *text.domains]
    assert [(one.neuron, one.domain) for one in found] == [(neuron, name) for neuron in (3, 4, 9) for name in names]
    for one in found:
        nll, before, kl, n = 0.0, 0.0, 0.0, 0
        for domain in [0, 1] if one.domain is None else [text.domains.index(one.domain)]:
            for batch in first_batches(text, domain, n_tokens=25):
                untouched, changed = changed_losses(
                    transformer, batch, [{1: Change(torch.tensor([one.neuron]), torch.zeros(1))}]
                )
                nll += float(changed.nll.double().sum())
                before += float(untouched.nll.double().sum())
                kl += float(changed.kl.double().sum())
                n += len(changed.nll)
        # The first sequence of prose is longer than what is to be read, and is cut.
        assert one.n_tokens == n == {None: 20 + 9 - 2 + 25 - 1, "code": 20 + 9 - 2, "prose": 25 - 1}[one.domain]
        assert (one.nll, one.nll_untouched, one.kl) == pytest.approx((nll, before, kl), rel=1e-12)


def test_rows_say_which_neurons_others_are_compared_with() -> None:
    losses = [
        SingleLoss(neuron, n, 3.0 * n + neuron, 3.0 * n, 0.5, domain)
        for neuron in (1, 4)
        for domain, n in ((None, 10), ("code", 4), ("prose", 6))
    ]
    frames = effects_frames(3, losses, np.array([4, 5]))
    frame = NEURON_EFFECTS.check(frames["neuron_effects"])
    assert frame["is_control"].to_list() == [False, True]
    assert frame["layer"].to_list() == [3, 3]
    assert frame["nll"].to_list() == [31.0, 34.0]
    parts = NEURON_EFFECTS_BY_DOMAIN.check(frames["neuron_effects_by_domain"])
    assert parts.select("neuron", "domain", "n_tokens", "nll").rows() == [
        *((1, "code", 4, 13.0), (1, "prose", 6, 19.0), (4, "code", 4, 16.0), (4, "prose", 6, 22.0)),
    ]
