"""Splitting into heads, and what a head is: entry by entry, in matrices, in ranks, in counts."""

import pytest
import torch

from course_utils.attention import attend
from course_utils.layers import MultiHeadAttention, merge_heads, split_heads
from course_utils.measure.costs import attention_parameters
from tests.core.support_layers import CLOSE
from tests.core.support_properties import given, st
from tests.support_errors import refusal

B, T, S, C, H = 2, 7, 11, 15, 3
D = C // H


def numbered(B=B, T=T, C=C):
    """Every entry is another number, so that any mixing shows."""
    return torch.arange(B * T * C).float().view(B, T, C)


@given(B=st.integers(1, 3), T=st.integers(1, 5), H=st.integers(1, 5), D=st.integers(1, 4))
def test_split_puts_every_entry_where_its_definition_says(B, T, H, D):
    x = numbered(B, T, H * D)
    split = split_heads(x, H)
    assert split.shape == (B, H, T, D)
    for b in range(B):
        for h in range(H):
            for t in range(T):
                assert torch.equal(split[b, h, t], x[b, t, h * D : (h + 1) * D])
    assert torch.equal(merge_heads(split), x)


def test_the_plain_reshape_has_the_same_shape_and_mixes_tokens():
    """Correction 12: in a row-major array the heads come first by a transpose alone."""
    x = numbered()
    split, mixed = split_heads(x, H), x.view(B, H, T, D)
    assert mixed.shape == split.shape
    assert not torch.equal(mixed, split)
    # Head 0 gets numbers of three tokens in place of seven, and no error says so.
    tokens = mixed[0, 0].div(C, rounding_mode="floor").unique()
    assert tokens.tolist() == [0, 1, 2]


def test_split_copies_nothing_and_takes_a_transposed_tensor():
    x = numbered()
    assert split_heads(x, H).data_ptr() == x.data_ptr()
    turned = x.mT.contiguous().mT
    assert not turned.is_contiguous()
    assert torch.equal(split_heads(turned, H), split_heads(x, H))


def test_concat_then_output_is_a_sum_over_heads():
    layer, x = MultiHeadAttention(C, H), torch.randn(B, T, C)
    out, heads = layer(x)
    mixed = heads.weights @ split_heads(layer.value(x), H)  # (B, H, T, D)
    blocks = layer.output.weight.split(D, dim=1)  # W_O cut into H blocks of D columns
    total = sum(mixed[:, h] @ block.mT for h, block in enumerate(blocks)) + layer.output.bias
    assert torch.allclose(total, out, **CLOSE)
    exchanged = zip(mixed.unbind(1), blocks[1:] + blocks[:1], strict=True)
    wrong = sum(head @ block.mT for head, block in exchanged) + layer.output.bias
    assert not torch.allclose(wrong, out, atol=1e-2)


@pytest.mark.parametrize("num_heads", [1, 3, 5, 15])
def test_parameters_do_not_depend_on_the_number_of_heads(num_heads):
    """Correction 11: 4 C^2 for every h."""
    for bias in (True, False):
        layer = MultiHeadAttention(C, num_heads, bias=bias)
        counted = sum(p.numel() for p in layer.parameters())
        assert counted == attention_parameters(C, bias=bias) == 4 * C * C + 4 * C * bias


@pytest.mark.parametrize("num_heads", [1, 3, 5])
def test_a_heads_scores_have_at_most_the_rank_of_its_width(num_heads):
    layer, x = MultiHeadAttention(C, num_heads).double(), torch.randn(1, 23, C).double()
    _, heads = layer(x)
    scores = heads.queries @ heads.keys.mT  # (1, H, 23, 23)
    assert torch.linalg.matrix_rank(scores).unique().tolist() == [C // num_heads]


def test_each_head_attends_as_if_it_were_alone():
    layer, x, memory = MultiHeadAttention(C, H), torch.randn(B, T, C), torch.randn(B, S, C)
    _, heads = layer(x, memory=memory)
    for h in range(H):
        own = slice(h * D, (h + 1) * D)
        q = x @ layer.query.weight[own].mT + layer.query.bias[own]
        k = memory @ layer.key.weight[own].mT + layer.key.bias[own]
        assert torch.allclose(attend(q, k, k)[1], heads.weights[:, h], **CLOSE)


REFUSED = [
    (lambda: split_heads(torch.zeros(1, 3, 512), 7),
     "ValueError: num_heads (7) must divide the width of x, C (512)"),
    (lambda: split_heads(torch.zeros(3, 15), 3),
     "ValueError: x must have 3 axes (B, T, C), got shape (3, 15)"),
    (lambda: split_heads(torch.zeros(1, 0, 15), 3),
     "ValueError: x must not be empty, got shape (1, 0, 15)"),
    (lambda: split_heads(torch.zeros(1, 3, 15).long(), 3),
     "TypeError: x must be a floating-point tensor, got torch.int64"),
    (lambda: merge_heads(numbered()),
     "ValueError: x must have 4 axes (B, H, T, D), got shape (2, 7, 15)"),
    (lambda: merge_heads(torch.zeros(1, 3, 0, 5)),
     "ValueError: x must not be empty, got shape (1, 3, 0, 5)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call, message):
    assert refusal(call) == message
