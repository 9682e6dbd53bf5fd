"""`flash_attend` under autocast, vmap and forward-mode derivatives."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from course_utils.kernels import available_backends, flash_attend

UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
# torch uses it itself, the first time that a derivative is taken forward.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
ON_CPU = [
    name for name in available_backends() if name != "triton" or not torch.cuda.is_available()
]
TILED = [name for name in ON_CPU if name != "reference"]


def leaves(*shapes):
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("backend", ON_CPU)
def test_autocast_as_in_torch(backend, dtype):
    q, k, v = leaves((2, 6, 7, 5), (2, 3, 11, 5), (2, 3, 11, 5))
    dout = torch.randn(2, 6, 7, 5)
    with torch.autocast("cpu", dtype=dtype):
        out = flash_attend(q, k, v, backend=backend)
        expected = scaled_dot_product_attention(q, k, v, enable_gqa=True)
        assert out.dtype == expected.dtype == dtype
        gradients = torch.autograd.grad((out.float() * dout).sum(), (q, k, v))
    wanted = torch.autograd.grad((expected.float() * dout).sum(), (q, k, v))
    tolerance = {"rtol": 4 * UNIT[dtype], "atol": 4 * UNIT[dtype]}
    torch.testing.assert_close(out, expected, **tolerance)
    for one, other in zip(gradients, wanted, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, **tolerance)


def test_autocast_leaves_float64():
    q = torch.randn(1, 2, 5, 3, dtype=torch.float64)
    with torch.autocast("cpu"):
        assert flash_attend(q, q, q).dtype == torch.float64
        with pytest.raises(TypeError, match=r"^k must"):
            flash_attend(q, q.float(), q)


def on(backend):
    return lambda x: flash_attend(x, x, x, causal=True, backend=backend)


@pytest.mark.parametrize("backend", TILED)
def test_transforms_are_refused(backend):
    x = torch.randn(2, 1, 2, 5, 16)
    with pytest.raises(RuntimeError, match="backend='reference' can be mapped"):
        torch.vmap(on(backend))(x)
    with pytest.raises(RuntimeError, match="backend='reference' has both"):
        torch.func.jvp(on(backend), (x[0],), (x[0],))


def test_the_reference_takes_transforms():
    x = torch.randn(2, 1, 2, 5, 16)
    mapped = torch.vmap(on("reference"))(x)
    torch.testing.assert_close(mapped, torch.stack([*map(on("tiled"), x)]))
    out, _ = torch.func.jvp(on("reference"), (x[0],), (x[1],))
    torch.testing.assert_close(out, mapped[0])
