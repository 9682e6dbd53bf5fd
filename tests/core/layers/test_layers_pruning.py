"""Static pruning: saliencies against torch's own Hessian, what goes, and what it does not save."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from course_utils.layers.pruning import (
    brain_damage_saliency,
    magnitude_mask,
    prune,
    saliency_mask,
)

N, IN, HIDDEN, OUT = 13, 5, 7, 3


def net(activation=nn.Tanh):
    return nn.Sequential(nn.Linear(IN, HIDDEN), activation(), nn.Linear(HIDDEN, OUT)).double()


def data():
    return torch.randn(N, IN, dtype=torch.float64), torch.randint(OUT, (N,))


def entropy(model, x, y):
    return cross_entropy(model(x), y)


def squares(model, x, y):
    return mse_loss(model(x), nn.functional.one_hot(y, OUT).double())


def diagonal_by_torch(model, loss, x, y):
    """The diagonal of the Hessian of all parameters, formed in full, as one (P, P) matrix."""
    names = dict(model.named_parameters())
    sizes = [each.numel() for each in names.values()]

    def of(flat):
        parts = zip(names.items(), flat.split(sizes), strict=True)
        weights = {name: part.view(each.shape) for (name, each), part in parts}
        return loss(lambda inputs: torch.func.functional_call(model, weights, (inputs,)), x, y)

    flat = torch.cat([each.detach().flatten() for each in names.values()])
    diagonal = torch.autograd.functional.hessian(of, flat).diagonal()
    parts = zip(names.items(), diagonal.split(sizes), strict=True)
    return {name: part.view(each.shape) for (name, each), part in parts}


@pytest.mark.parametrize(
    ("loss", "activation", "chunk_size"),
    [
        (entropy, nn.Tanh, 1),
        (entropy, nn.ReLU, 11),
        (entropy, nn.Tanh, 256),
        (squares, nn.ReLU, 1),
        (squares, nn.Tanh, 11),
        (squares, nn.ReLU, 256),
    ],
)
def test_saliency_by_the_whole_hessian(loss, activation, chunk_size):
    model, batch = net(activation), data()
    found = brain_damage_saliency(model, loss, *batch, chunk_size=chunk_size)
    diagonal = diagonal_by_torch(model, loss, *batch)
    assert list(found) == ["0.weight", "2.weight"]
    for name, saliency in found.items():
        weight = model.get_parameter(name).detach()
        torch.testing.assert_close(saliency, diagonal[name] * weight**2 / 2)


def test_saliency_at_a_minimum():
    """Linear regression: the loss is quadratic, so second order is all there is."""
    x = torch.randn(29, IN, dtype=torch.float64)
    y = torch.randn(29, OUT, dtype=torch.float64)
    model = nn.Linear(IN, OUT, bias=False).double()
    model.weight.data = torch.linalg.lstsq(x, y).solution.T
    found = brain_damage_saliency(model, lambda m, a, b: mse_loss(m(a), b), x, y)["weight"]
    best = mse_loss(model(x), y)
    for place in range(IN * OUT):
        mask = torch.ones(OUT, IN, dtype=torch.bool)
        mask.view(-1)[place] = False
        rise = mse_loss(prune(model, {"weight": mask})(x), y) - best
        torch.testing.assert_close(found.view(-1)[place], rise)


def test_smallest_over_all_matrices():
    model = net()
    for sparsity in (0, 0.1, 0.37, 0.9):
        masks = magnitude_mask(model, sparsity)
        weights = torch.cat([model.get_parameter(name).flatten() for name in masks]).abs()
        keep = torch.cat([mask.flatten() for mask in masks.values()])
        gone = round(sparsity * len(weights))
        assert int((~keep).sum()) == gone
        if gone:
            assert weights[~keep].max() < weights[keep].min()
    shares = [mask.double().mean().item() for mask in masks.values()]
    assert abs(shares[0] - shares[1]) > 0.05  # not the same share of each matrix


def test_equal_saliencies_go_in_order():
    masks = saliency_mask({"a": torch.ones(2, 3), "b": torch.ones(1, 4)}, 0.7)
    assert not masks["a"].any() and masks["b"].tolist() == [[False, True, True, True]]


def test_prune_makes_a_copy():
    model = net()
    before = {name: each.clone() for name, each in model.state_dict().items()}
    masks = magnitude_mask(model, 0.6)
    pruned = prune(model, {"0.weight": masks["0.weight"]})
    for name, each in model.state_dict().items():
        assert torch.equal(each, before[name])
    assert torch.equal(pruned[0].weight == 0, ~masks["0.weight"])
    assert torch.equal(pruned[0].weight[masks["0.weight"]], model[0].weight[masks["0.weight"]])
    assert torch.equal(pruned[2].weight, model[2].weight)  # no mask: all kept
    assert torch.equal(pruned[0].bias, model[0].bias)


def test_gradients_are_untouched():
    model, batch = net(), data()
    entropy(model, *batch).backward()
    before = [each.grad.clone() for each in model.parameters()]
    brain_damage_saliency(model, entropy, *batch)
    for each, grad in zip(model.parameters(), before, strict=True):
        assert torch.equal(each.grad, grad) and each.requires_grad
