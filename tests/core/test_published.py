"""Sizes of published models, checked against each other: parameters are counted from the others."""

import pytest

from course_utils.models.published import PUBLISHED

# Vocabulary and feed-forward width, from the papers that published.py names; the table has neither.
LLAMAS = {
    "Llama 2 7B": (32_000, 11_008),
    "Llama 2 70B": (32_000, 28_672),
    "Llama 3.1 8B": (128_256, 14_336),
    "Llama 3.1 70B": (128_256, 28_672),
    "Llama 3.1 405B": (128_256, 53_248),
    "Mistral 7B": (32_000, 14_336),
}


@pytest.mark.parametrize("name", LLAMAS)
def test_parameters_of_llamas(name):
    V, F = LLAMAS[name]
    L, H, G, D, _, parameters = PUBLISHED[name]
    C = H * D
    attention, feedforward, norms = 2 * C * C + 2 * C * G * D, 3 * C * F, 2 * C
    assert parameters == 2 * V * C + L * (attention + feedforward + norms) + C


@pytest.mark.parametrize("name", ["GPT-2", "GPT-2 medium", "GPT-3 175B"])
def test_parameters_of_gpts(name):
    V = 50_257
    L, H, G, D, T, parameters = PUBLISHED[name]
    C = H * D
    # Weights and biases of three products, of two layers and of two norms; positions are learned.
    attention = 2 * C * C + 2 * C * G * D + 4 * C
    counted = (V + T) * C + L * (attention + 8 * C * C + 5 * C + 4 * C) + 2 * C
    # GPT-3's paper rounds to billions.
    assert parameters == (round(counted, -9) if name.startswith("GPT-3") else counted)
