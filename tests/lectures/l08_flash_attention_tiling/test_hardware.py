"""The GPUs' figures against what follows from their own parts, and the tables."""

import dataclasses

import pytest

from course_utils.kernels.gpus import GPUS, KB, MB

# Multiply-adds that one SM does per clock: in tensor cores on 16-bit numbers with float32 sums
# (whitepapers: A100 4 cores x 256, H100 4 x 512, Ada 4 x 64), and in its float32 lanes.
TENSOR_LANES = {"sm_80": 1024, "sm_89": 256, "sm_90": 2048}
VECTOR_LANES = {"sm_80": 64, "sm_89": 128, "sm_90": 128}


@pytest.mark.parametrize("name", GPUS)
def test_the_tensor_rate_is_dense(name):
    gpu = GPUS[name]
    rate = 2 * TENSOR_LANES[gpu.target] * gpu.num_sms * gpu.clock
    assert gpu.tensor_flops == pytest.approx(rate, rel=2e-3)  # datasheets round to 3 or 4 digits


@pytest.mark.parametrize("name", GPUS)
def test_the_vector_rate_is_that_of_the_lanes(name):
    gpu = GPUS[name]
    rate = 2 * VECTOR_LANES[gpu.target] * gpu.num_sms * gpu.clock
    # Hopper's float32 lanes may run at 1.98 GHz, its tensor cores at 1.83.
    assert gpu.vector_flops == pytest.approx(rate, rel=0.09 if gpu.target == "sm_90" else 2e-3)


@pytest.mark.parametrize("name", GPUS)
def test_each_level_holds_more_and_is_slower(name):
    gpu = GPUS[name]
    assert gpu.shared_per_sm - gpu.shared_per_block == KB
    rates = [rate for _, _, rate in gpu.levels if rate is not None]
    assert rates == sorted(rates, reverse=True) and rates[-1] == gpu.memory_bandwidth
    assert gpu.registers_per_sm > gpu.shared_per_sm
    assert gpu.memory > 100 * gpu.l2 and gpu.l2 > gpu.num_sms * gpu.shared_per_sm
    assert len(gpu.sources) >= 3


def test_derived_rates():
    a100 = GPUS["A100 SXM 80GB"]
    assert a100.shared_bandwidth == pytest.approx(128 * 108 * 1.41e9)
    assert a100.l2_bandwidth == pytest.approx(5120 * 1.41e9)
    assert GPUS["H100 SXM"].l2_bandwidth is None
    assert a100.ridge == pytest.approx(312 / 2.039)
    # FlashAttention-3, section 3.1: 3.9 TFLOPS of special functions on an H100.
    assert GPUS["H100 SXM"].special_rate == pytest.approx(3.9e12, rel=0.01)
    assert a100.levels[1] == ("shared memory", 108 * 164 * KB, a100.shared_bandwidth)
    assert a100.levels[2][1] == 40 * MB


def test_h200_differs_from_h100_in_memory():
    h100, h200 = GPUS["H100 SXM"], GPUS["H200 SXM"]
    changed = {
        field.name
        for field in dataclasses.fields(h100)
        if getattr(h100, field.name) != getattr(h200, field.name)
    }
    assert changed == {"name", "driver_name", "memory", "memory_bandwidth", "sources"}
