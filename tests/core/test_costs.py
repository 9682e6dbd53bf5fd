"""Costs against FLOPs counted on PyTorch's own modules, reaches against measured gradients."""

import pytest
import torch
from torch import nn

from course_utils.attention import attend
from course_utils.measure.costs import (
    attention_flops,
    attention_mixing_flops,
    attention_projection_flops,
    crossover_length,
    layers_needed,
    path_length,
    recurrent_flops,
)
from tests.support_flops import counted_flops

N, C = 7, 5
CELLS = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}


@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_flops_as_counted(cell):
    step, x = CELLS[cell](C, C), torch.randn(N, 1, C)

    def run():
        state = None
        for token in x:
            state = step(token, state)

    assert recurrent_flops(N, C, cell=cell) == counted_flops(run)


@pytest.mark.parametrize("num_heads", [1, 5])
def test_attention_flops_as_counted(num_heads):
    layer, x = nn.MultiheadAttention(C, num_heads, batch_first=True), torch.randn(1, N, C)
    assert attention_flops(N, C) == counted_flops(lambda: layer(x, x, x))


def test_parts_of_attention_as_counted():
    x, project = torch.randn(N, C), nn.Linear(C, C, bias=False)
    assert attention_mixing_flops(N, C) == counted_flops(lambda: attend(x, x, x))
    assert attention_projection_flops(N, C) == 4 * counted_flops(lambda: project(x))


@pytest.mark.parametrize(
    ("cell", "count_projections", "expected"),
    [
        ("rnn", False, 512),
        ("gru", False, 1536),
        ("lstm", False, 2048),
        ("gru", True, 512),
        ("lstm", True, 1024),
    ],
)
def test_equal_costs_at_the_crossover(cell, count_projections, expected):
    cost = attention_flops if count_projections else attention_mixing_flops
    crossover = crossover_length(512, cell=cell, count_projections=count_projections)
    assert crossover == expected
    assert cost(crossover, 512) == recurrent_flops(crossover, 512, cell=cell)
    assert cost(crossover - 1, 512) < recurrent_flops(crossover - 1, 512, cell=cell)
    assert cost(crossover + 1, 512) > recurrent_flops(crossover + 1, 512, cell=cell)


def test_no_crossover_with_an_rnn():
    assert crossover_length(512, count_projections=True) == 0
    assert attention_flops(1, 512) > recurrent_flops(1, 512)


# Reaches, by the gradient of one output with respect to the inputs


def conv_stack(layers, kernel_width, geometry, dilated):
    """Convolutions with all weights 1: gradients count paths, so none cancels."""
    modules = []
    for i in range(layers):
        dilation = kernel_width**i if dilated else 1
        width = (kernel_width - 1) * dilation
        sides = (width // 2, width // 2) if geometry == "centred" else (width, 0)
        conv = nn.Conv1d(1, 1, kernel_width, dilation=dilation, bias=False).double()
        nn.init.ones_(conv.weight)
        modules += [nn.ConstantPad1d(sides, 0.0), conv]
    return nn.Sequential(*modules)


def inputs_reached(network, length, output):
    x = torch.zeros(1, 1, length, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(network(x)[0, 0, output], x)
    return (gradient[0, 0] != 0).tolist()


def measured_layers(length, kernel_width, geometry, dilated):
    """The fewest layers through which the last output depends on the first input."""
    for layers in range(length + 1):
        network = conv_stack(layers, kernel_width, geometry, dilated)
        if inputs_reached(network, length, -1)[0]:
            return layers
    raise AssertionError("never reached")


STACKS = [
    *[(kernel_width, "one-sided", False) for kernel_width in (2, 3, 5)],
    *[(kernel_width, "one-sided", True) for kernel_width in (2, 3, 5)],
    *[(kernel_width, "centred", False) for kernel_width in (3, 5)],
]


@pytest.mark.parametrize("length", [1, 2, 3, 9, 10])
@pytest.mark.parametrize(("kernel_width", "geometry", "dilated"), STACKS)
def test_layers_needed_by_gradient(length, kernel_width, geometry, dilated):
    claimed = layers_needed(length, kernel_width=kernel_width, geometry=geometry, dilated=dilated)
    assert claimed == measured_layers(length, kernel_width, geometry, dilated)


@pytest.mark.parametrize("kernel_width", [2, 3, 5, 10])
def test_dilated_layers_at_exact_powers(kernel_width):
    for power in range(1, 12):
        length = kernel_width**power
        assert layers_needed(length, kernel_width=kernel_width, dilated=True) == power
        assert layers_needed(length + 1, kernel_width=kernel_width, dilated=True) == power + 1


def test_path_length_of_each_layer():
    assert path_length("attention", 41) == 1
    assert path_length("recurrent", 41) == 40
    assert path_length("convolution", 41) == 20
    assert path_length("convolution", 41, geometry="centred") == 40
    assert path_length("dilated convolution", 81) == 4
    assert path_length("dilated convolution", 82) == 5
    layers = ["recurrent", "convolution", "dilated convolution", "attention"]
    assert [path_length(layer, 1) for layer in layers] == [0, 0, 0, 0]
