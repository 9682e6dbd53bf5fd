"""oneDNN's product: what it gives, where it is taken, and that the tiles do without it."""

import pytest
import torch
from support_paths import multiply_by_onednn
from support_tiled import qkv, run

from course_utils.kernels import onednn, tiled_products
from course_utils.kernels.reference import attend_reference
from course_utils.kernels.tiled import attend_tiled
from course_utils.kernels.tiled_schedule import TileSchedule

CPU = torch.device("cpu")
ZEN_5 = {"cpu_name": "AMD EPYC 9755", "avx512_f": True}
# float32 rounds a sum of K products to K units in its eighth digit at most; half of that is seen.
UNIT = torch.finfo(torch.float32).eps


@pytest.fixture
def product():
    found = onednn._tried_product()
    if found is None:
        pytest.skip("this torch has no such product")
    return found


@pytest.fixture
def amd(monkeypatch):
    """A processor of the kind that gains, whatever this one is, and a product not yet tried."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: ZEN_5, raising=False)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    onednn._tried_product.cache_clear()
    yield monkeypatch
    onednn._tried_product.cache_clear()


# What it gives


def plain(x):
    return x


def transposed(x):
    return x.mT.contiguous().mT


def sliced(x):
    wider = torch.randn(x.shape[0] + 3, x.shape[1] + 5)
    wider[2:-1, 1:-4] = x
    return wider[2:-1, 1:-4]


@pytest.mark.parametrize("with_plus", [False, True])
@pytest.mark.parametrize("b_lies", [plain, transposed, sliced])
@pytest.mark.parametrize("a_lies", [plain, transposed, sliced])
@pytest.mark.parametrize(("M", "K", "N"), [(113, 31, 67), (7, 211, 3), (1, 5, 1), (2, 1, 13)])
def test_it_is_the_product(product, M, K, N, a_lies, b_lies, with_plus):
    a, b, plus = a_lies(torch.randn(M, K)), b_lies(torch.randn(K, N)), torch.randn(N) * with_plus
    found = product(a, b, plus if with_plus else None)
    right = lambda a, b: a.double() @ b.double() + plus.double()  # noqa: E731
    room = K * UNIT * (a.double().abs() @ b.double().abs() + plus.abs())
    assert found.shape == (M, N)
    assert ((found - right(a, b)).abs() <= room).all()
    # What a processor would give that multiplied in 16 bits.
    assert not ((found - right(a.bfloat16(), b.bfloat16())).abs() <= room).all()
    assert not with_plus or not ((found - a.double() @ b.double()).abs() <= room).all()


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("lies", [plain, transposed])
def test_what_is_not_finite_reaches_its_row_alone(product, lies, value):
    a = torch.ones(37, 29)
    a[5, 7] = value
    found = product(lies(a), torch.ones(29, 41), None)
    assert not found[5].isfinite().any()
    found[5] = 29
    assert (found == 29).all()


@pytest.mark.parametrize("with_plus", [False, True])
def test_operands_are_left_alone(product, with_plus):
    a, b, plus = torch.randn(31, 17), torch.randn(17, 43), torch.randn(43) if with_plus else None
    before = [x.clone() for x in (a, b)]
    first = product(a, b, plus)
    kept = first.clone()
    second = product(a, b, plus)
    assert torch.equal(first, second)
    second.zero_()
    assert torch.equal(first, kept)
    assert all(torch.equal(x, y) for x, y in zip((a, b), before, strict=True))


# Where it is taken


def test_an_amd_processor_with_avx512_takes_it(amd):
    if onednn._tried_product() is None:
        pytest.skip("this torch has no such product")
    assert onednn.faster_product(CPU, torch.float32) is onednn._tried_product()
    assert tiled_products.TileProducts(torch.zeros(1), 1.0).one_head
    assert tiled_products.TileProducts(torch.zeros(1, dtype=torch.float16), 1.0).one_head


@pytest.mark.parametrize(
    ("device", "dtype"),
    [("cpu", dtype) for dtype in (torch.float64, torch.bfloat16, torch.float16)]
    + [(device, torch.float32) for device in ("cuda", "mps", "meta")],
)
def test_other_devices_and_dtypes_do_not(amd, device, dtype):
    assert onednn.faster_product(torch.device(device), dtype) is None


@pytest.mark.parametrize(
    "known",
    [
        None,
        {},
        {"architecture": "arm64", "cpu_name": "Apple M3"},
        {"cpu_name": "Intel Xeon", "avx512_f": True},
        {"cpu_name": "AMD Ryzen 5 5600U", "avx512_f": False},
    ],
)
def test_other_processors_do_not(amd, known):
    if known is None:  # a torch that cannot say
        amd.delattr(torch.cpu, "get_capabilities")
    else:
        amd.setattr(torch.cpu, "get_capabilities", lambda: known)
    assert onednn.faster_product(CPU, torch.float32) is None


def test_a_torch_without_mkl_does_not(amd):
    amd.setattr(torch.backends.mkl, "is_available", lambda: False)
    assert onednn.faster_product(CPU, torch.float32) is None


# `flags` sets all its flags, and torch warns of one that means nothing on this processor.
@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN")
def test_onednn_switched_off_by_the_user_stays_off(amd):
    with torch.backends.mkldnn.flags(enabled=False):
        assert onednn.faster_product(CPU, torch.float32) is None


def missing(x, weight, bias):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")


def of_other_arguments(x, weight, bias):
    raise RuntimeError("mkldnn::_linear_pointwise() Expected a value of type 'str'")


def without_bias(x, weight, bias):
    return x @ weight.T


def of_another_shape(x, weight, bias):
    return (x @ weight.T + bias)[None]


@pytest.mark.parametrize("linear", [missing, of_other_arguments, without_bias, of_another_shape])
def test_done_without_a_missing_operator(amd, linear):
    amd.setattr(onednn, "_linear", linear)
    assert onednn.faster_product(CPU, torch.float32) is None
    inputs = qkv(269, 1103, B=1, H=2, G=1, D=24, dtype=torch.float32)
    amd.setattr(tiled_products, "_FEWEST", 1)
    found = run(inputs)[0]
    # float32 against float64: sums of a thousand numbers of about one.
    assert torch.allclose(found, expected(inputs), atol=1e-5)


def expected(inputs):
    exact = attend_reference(*(x.double() for x in inputs), causal=True, scale=0.2)[0]
    return exact.float()


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_tried_on_the_cpu_in_float32_by_any_default(amd, product, device, default):
    torch.set_default_dtype(default)
    try:
        with torch.device(device):
            assert onednn.faster_product(CPU, torch.float32) is onednn._product
    finally:
        torch.set_default_dtype(torch.float32)


# In the tiles


@pytest.fixture
def counted(product, monkeypatch):
    """The sizes of oneDNN's products, in a tiled backend that takes them for any size."""
    multiply_by_onednn(monkeypatch)
    sizes = []

    def counting(a, b, plus):
        sizes.append((*a.shape, b.shape[1]))
        return product(a, b, plus)

    monkeypatch.setattr(tiled_products, "faster_product", lambda device, dtype: counting)
    return sizes


def test_every_product_goes_through_it(counted):
    inputs = qkv(600, 1100, B=2, H=4, G=2, D=16, dtype=torch.float32)
    found = run(inputs)[0]
    assert torch.allclose(found, expected(inputs), atol=1e-5)
    # Blocks of 512 query rows, a group of 2 heads each, and of 1024 keys; two products of a tile
    # forward and five backward, for 2 × 2 heads.
    schedule = TileSchedule(*inputs[:2], causal=True, one_head=True)
    tiles = sum(
        1 for _, rows in schedule.blocks_of_queries() for _ in schedule.blocks_of_keys(rows)
    )
    assert schedule.heads_at_once == 1
    assert len(counted) == 7 * tiles > 7 * 2 * 2


# As layers hand them over: heads side by side in memory, one tensor for q, k and v, ...
LAYOUTS = {
    "heads side by side": lambda B, H, T, D: torch.randn(B, T, H, D).transpose(1, 2),
    "q, k and v in one": lambda B, H, T, D: torch.randn(B, T, 3, H, D)[:, :, 1].transpose(1, 2),
    "columns first": lambda B, H, T, D: torch.randn(B, H, D, T).mT,
    "every second row": lambda B, H, T, D: torch.randn(B, H, 2 * T, D)[:, :, ::2],
    "one head for all": lambda B, H, T, D: torch.randn(B, 1, T, D).expand(B, H, T, D),
    "rows that overlap": lambda B, H, T, D: torch.randn(B, H, T + D).unfold(-1, D, 1)[:, :, :T],
}  # fmt: skip


@pytest.mark.parametrize("H", [2, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_have_no_gaps(monkeypatch, layout, H):
    """oneDNN takes a thousand times as long for gaps, and refuses rows that overlap."""
    multiply_by_onednn(monkeypatch)
    multiply, gaps = onednn._linear, []

    def looking(x, weight, bias):
        # The second operand is the large one: its rows or its columns follow one another.
        gaps.append(not (weight.is_contiguous() or weight.mT.is_contiguous()))
        gaps.append(not (x.is_contiguous() or x.mT.is_contiguous()))
        return multiply(x, weight, bias)

    monkeypatch.setattr(onednn, "_linear", looking)
    q, k, v = (LAYOUTS[layout](2, heads, T, 16) for heads, T in ((H, 211), (2, 307), (2, 307)))
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    out, _ = attend_tiled(*leaves, causal=True, scale=0.2)
    expanded = torch.ones(()).expand_as(out)
    side_by_side = torch.ones(2, 211, H, 16).transpose(1, 2)
    for given in (expanded, side_by_side):
        torch.autograd.grad(out, leaves, given, retain_graph=True)
    assert gaps and not any(gaps)
    assert torch.allclose(out, expected((q, k, v)), atol=1e-5)


def test_small_products_stay_with_torch(counted, monkeypatch):
    inputs = qkv(600, 1100, B=1, H=2, G=2, D=16, dtype=torch.float32)
    monkeypatch.setattr(tiled_products, "_FEWEST", 512 * 1024 * 16 + 1)
    run(inputs)
    assert not counted
