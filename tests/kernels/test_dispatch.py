"""Who computes, what is said when somebody cannot, and what the user gets back."""

import importlib.metadata
import importlib.util
import re
from types import SimpleNamespace

import pytest
import torch

from course_utils.kernels import available_backends, dispatch, flash_attend, launch
from course_utils.kernels.launch import unavailable_reason

INSTALL, NO_GPU = "Triton is not installed", "there is no CUDA device here"
TOO_LATE = "TRITON_INTERPRET was {} after triton was imported"
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)
old_interpreter = pytest.mark.skipif(
    importlib.util.find_spec("triton") is not None and launch._broken_interpreter() is not None,
    reason="this interpreter and this NumPy do not fit",
)


def qkv(device="cpu", dtype=torch.float32, width=16):
    q = torch.randn(1, 4, 5, width).to(device, dtype)
    k = torch.randn(1, 2, 7, width).to(device, dtype)
    return q, k, k.flip(2)


def cannot(reason: str) -> str:
    """How an error begins that names the reason."""
    return f"backend 'triton' must be able to take this input: {reason}"


def refused(reason: str):
    return pytest.raises(ValueError, match="^" + re.escape(cannot(reason)))


def check_auto_works() -> None:
    assert available_backends() == ("tiled", "reference")
    q, k, v = qkv()
    assert torch.equal(flash_attend(q, k, v), flash_attend(q, k, v, backend="tiled"))


# What is returned


def test_return_lse(backend, device):
    q, k, v = qkv(device)
    out = flash_attend(q, k, v, backend=backend)
    both = flash_attend(q, k, v, backend=backend, return_lse=True)
    assert isinstance(out, torch.Tensor) and isinstance(both, tuple) and len(both) == 2
    assert torch.equal(out, both[0])
    assert both[1].shape == q.shape[:3] and both[1].dtype == torch.float32


@pytest.mark.parametrize(
    ("default", "other"), [({"scale": 0.25}, {"scale": 1.0}), ({"causal": False}, {"causal": True})]
)
def test_defaults(backend, device, default, other):
    q, k, v = qkv(device)
    out = flash_attend(q, k, v, backend=backend)
    assert torch.equal(out, flash_attend(q, k, v, **default, backend=backend))
    assert not torch.allclose(out, flash_attend(q, k, v, **other, backend=backend), atol=1e-3)


def test_the_inputs_are_left_as_they_were(backend, device):
    tensors = [x.requires_grad_() for x in qkv(device)]
    before = [x.detach().clone() for x in tensors]
    flash_attend(*tensors, causal=True, backend=backend).sum().backward()
    assert all(torch.equal(x, y) for x, y in zip(tensors, before, strict=True))


# What can be differentiated


@pytest.mark.parametrize("which", ["k", "qv"])
def test_gradients_only_where_asked_for(backend, device, which):
    tensors = dict(zip("qkv", qkv(device), strict=True))
    everything = [x.clone().requires_grad_() for x in tensors.values()]
    out = flash_attend(*everything, causal=True, backend=backend)
    full = dict(zip("qkv", torch.autograd.grad(out.square().sum(), everything), strict=True))
    for name in which:
        tensors[name].requires_grad_()
    out = flash_attend(*tensors.values(), causal=True, backend=backend)
    out.square().sum().backward()
    for name, tensor in tensors.items():
        if name in which:
            assert torch.equal(tensor.grad, full[name]), name
        else:
            assert tensor.grad is None, name


def test_the_gradient_as_a_function_is_the_same(backend, device):
    def total(*inputs):
        out, lse = flash_attend(*inputs, causal=True, backend=backend, return_lse=True)
        return out.sin().sum() + lse.sum()

    inputs = [x.requires_grad_() for x in qkv(device)]
    expected = torch.autograd.grad(total(*inputs), inputs)
    found = torch.func.grad(total, argnums=(0, 1, 2))(*(x.detach() for x in inputs))
    assert all(map(torch.equal, found, expected))


def test_gradient_of_out_or_lse_alone(backend, device):
    inputs = [x.requires_grad_() for x in qkv(device)]
    out, lse = flash_attend(*inputs, backend=backend, return_lse=True)
    of_out = torch.autograd.grad(out.sum(), inputs, retain_graph=True)
    of_lse = torch.autograd.grad(lse.sum(), inputs, retain_graph=True, materialize_grads=True)
    of_both = torch.autograd.grad(out.sum() + lse.sum(), inputs)
    assert (of_lse[2] == 0).all() and (of_lse[0] != 0).any()
    for one, other, both in zip(of_out, of_lse, of_both, strict=True):
        # Three roundings of numbers of ordinary size.
        assert torch.allclose(one + other, both, rtol=1e-5, atol=1e-5)


def test_nothing_recorded_without_gradients(backend, device):
    inputs = qkv(device)
    assert not flash_attend(*inputs, backend=backend).requires_grad
    for tensor in inputs:
        tensor.requires_grad_()
    with torch.no_grad():
        out, lse = flash_attend(*inputs, backend=backend, return_lse=True)
    assert not out.requires_grad and not lse.requires_grad
    with torch.inference_mode():
        assert not flash_attend(*inputs, backend=backend).requires_grad


@pytest.mark.parametrize("other", [0.0, 1.0])
def test_second_derivative(backend, device, other):
    q, k, v = qkv(device)
    q.requires_grad_()
    out = flash_attend(q, k, v, backend=backend)
    (first,) = torch.autograd.grad(out.sum(), q, create_graph=True)
    # Where q is reached in another way as well, the part through attention must not be left out.
    penalty = first.square().sum() + other * q.sum()
    if backend == "reference":
        assert (torch.autograd.grad(penalty, q)[0] != other).any()
    else:
        message = "flash_attend must be differentiated once at most, got a second time"
        with pytest.raises(RuntimeError, match=message):
            torch.autograd.grad(penalty, q)


# Which backends are there


@pytest.fixture
def nothing_kept():
    """What was found out about this machine is found out anew, here and by whoever comes next."""
    kept = (launch._broken_interpreter, launch._has_gpu)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


@pytest.mark.usefixtures("nothing_kept")
def test_without_triton(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert unavailable_reason().startswith(INSTALL)
    check_auto_works()
    with refused(INSTALL):
        flash_attend(*qkv(), backend="triton")


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("error", [OSError("libcuda.so: no such file"), KeyError("x")])
def test_triton_that_breaks_on_import(monkeypatch, error):
    def broken():
        raise error

    monkeypatch.setattr(launch, "_is_installed", lambda package: True)
    monkeypatch.setattr(launch, "_kernels", broken)
    said = f"Triton cannot be imported ({type(error).__name__}: {error})"
    assert unavailable_reason() == said
    check_auto_works()
    with refused(said):
        flash_attend(*qkv(), backend="triton")


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize(
    ("triton", "numpy", "interpreted", "broken"),
    [
        ("3.6.0", "2.4.0", True, True),
        ("3.6.0", "2.4.0", False, False),
        ("3.6.0", "2.3.5", True, False),
        ("3.10.0", "3.0.0rc1", True, False),
        (None, "2.4.0", True, False),
    ],
)
def test_interpreter_too_old_for_numpy(monkeypatch, triton, numpy, interpreted, broken):
    def version(package):
        if {"triton": triton, "numpy": numpy}[package] is None:
            raise importlib.metadata.PackageNotFoundError(package)
        return {"triton": triton, "numpy": numpy}[package]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(launch, "_is_installed", lambda package: True)
    monkeypatch.setattr(launch, "_has_gpu", lambda: True)
    with monkeypatch.context() as changed:
        changed.setattr(launch, "_kernels", lambda: kernels(interpreted))
        assert (unavailable_reason() is not None) == broken


def kernels(interpreted):
    return SimpleNamespace(
        INTERPRETED=interpreted, MIXED=False, wants_interpreter=lambda: interpreted
    )


class OnGPU(torch.Tensor):
    """Stands in for a tensor on a GPU, where the choice is all that is looked at."""

    is_cuda, device = True, torch.device("cuda")


@pytest.mark.parametrize(
    ("reason", "dtype", "interpreted", "takes"),
    [
        (None, torch.float32, False, True),
        (None, torch.float64, False, False),
        (None, torch.float32, True, False),
        ("no driver", torch.float32, False, False),
    ],
)
def test_auto_on_a_gpu(monkeypatch, reason, dtype, interpreted, takes):
    monkeypatch.setattr(dispatch, "unavailable_reason", lambda: reason)
    monkeypatch.setattr(launch, "_kernels", lambda: kernels(interpreted))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    chosen = dispatch._backend_for(qkv(dtype=dtype)[0].as_subclass(OnGPU), "auto")
    assert chosen is (launch.attend_triton if takes else dispatch.attend_tiled)


@needs_triton
@pytest.mark.parametrize(
    ("more", "came"),
    [
        ({"dtype": torch.float64}, "float32, float16 or bfloat16, got torch.float64"),
        ({"width": 129}, "a head width D of at most 128, got 129"),
    ],
)
def test_what_triton_does_not_take(device, more, came):
    q, k, v = qkv(device, **more)
    with refused(f"the Triton kernels must get {came}"):
        flash_attend(q, k, v, backend="triton")
    assert torch.equal(flash_attend(q, k, v), flash_attend(q, k, v, backend="tiled"))


# Processes that have not imported Triton yet, as a user's


@pytest.fixture
def fresh(fresh_python):
    """What code prints in a process of its own."""

    def run(code: str, **environment: str) -> str:
        head = "import os, sys, torch\nq = torch.randn(1, 2, 5, 16)\n"
        done = fresh_python(head + code, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


ASK = """
from course_utils.kernels import available_backends, flash_attend
assert flash_attend(q, q, q).shape == q.shape
try:
    flash_attend(q, q, q, backend="triton")
except ValueError as error:
    print(error)
else:
    print("computed", *available_backends())
"""
SET, UNSET = 'os.environ["TRITON_INTERPRET"] = "1"', 'del os.environ["TRITON_INTERPRET"]'
THEIRS, OURS = "import triton", "import course_utils.kernels.tiled_triton"
ASKED = "from course_utils.kernels import available_backends; available_backends()"
COMPUTED = "computed triton tiled reference"


@needs_triton
@pytest.mark.parametrize(
    ("before", "said"),
    [
        ((), cannot(NO_GPU)),
        ((SET, THEIRS, UNSET), cannot(NO_GPU)),
        ((THEIRS, SET), cannot(TOO_LATE.format("set"))),
        ((SET, ASKED, UNSET), cannot(TOO_LATE.format("unset"))),
        pytest.param((SET, OURS), COMPUTED, marks=old_interpreter),
    ],
    ids=lambda value: None if isinstance(value, str) else "; ".join(value)[-40:],
)
def test_interpreter_set_in_any_order(fresh, before, said):
    assert fresh("\n".join((*before, ASK)), CUDA_VISIBLE_DEVICES="").startswith(said)
