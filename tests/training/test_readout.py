"""The readout's own backward equals autograd through plain formulas, whichever of its results is used."""

import pytest
import torch

from simarena.training.readout import readout


@pytest.mark.parametrize("used", [(1.0, 0.0), (0.0, 1.0), (1.0, -0.3), (0.0, 0.0)])
def test_equals_autograd(used: tuple[float, float]) -> None:
    chance = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(7, 11, generator=chance)).double()
    ids = torch.randint(11, (7,), generator=chance)
    weights = torch.randn(7, generator=chance).double()
    mine, plain = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    logprobs, entropy = readout(mine, ids)
    table = plain.log_softmax(-1)
    expected = table.gather(1, ids[:, None])[:, 0], -(table.exp() * table).sum(-1)
    torch.testing.assert_close((logprobs, entropy), expected)
    for found, leaf in ((logprobs, entropy), mine), (expected, plain):
        total = leaf.sum() * 0
        for share, values in zip(used, found, strict=True):
            total = total + share * (values * weights).sum() if share else total
        total.backward()
    torch.testing.assert_close(mine.grad, plain.grad)
