"""What the page of corrections says that a run shows, each number computed again in another way."""

import math
import re

import numpy as np
import pytest

from lectures import COURSE
from tools.site.corrections import corrections_of

ROWS = {
    int(each.__name__.removeprefix("row_")): each
    for lecture in COURSE
    for each in corrections_of(lecture)
}


def measured(row):
    note = ROWS[row]()
    assert note.row == row
    return note.measured


def numbers(row):
    """All numbers of a sentence, in their order."""
    return [
        float(each.replace(",", ""))
        for each in re.findall(r"\d[\d,]*\.?\d*(?:e-\d+)?", measured(row))
    ]


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_all_are_there_once():
    count = sum(len(corrections_of(lecture)) for lecture in COURSE)
    assert sorted(ROWS) == list(range(1, 29)) and count == 28


def test_1_weights_by_numpy():
    x = np.array([[1, 0.5, 0.2, 0.1], [0.3, 1, 0.4, 0.2], [0.2, 0.3, 1, 0.5]])
    weights = softmax(x @ x.T / 2)
    assert numbers(1) == pytest.approx(weights.ravel(), abs=6e-4)  # three digits are shown
    assert abs(weights[0] - [0.348, 0.325, 0.327]).max() > 0.04


def test_2_a_convolution_of_width_three_reaches_one_further_with_each_layer():
    assert numbers(2)[1:] == [80, 40, math.log(81, 3), 1]  # 81 = 3⁴: dilated by 1, 3, 9, 27


def test_3_work_is_equal_where_the_length_is_the_width():
    found = numbers(3)
    assert found[0] == 512
    for n, mixing, rnn in zip(*[iter(found[1:])] * 3, strict=True):
        assert (mixing, rnn) == (round(4 * n * n * 512 / 1e6), round(4 * n * 512**2 / 1e6))


def test_4_variance_and_mean_are_within_what_is_said():
    _, variance, off, _, mean, more, heads, least, most, *_ = numbers(4)
    assert (variance, mean) == (
        pytest.approx(64, abs=2 * off),
        pytest.approx(0.3 * 64, abs=2 * more),
    )
    assert heads == 72 and least < 1 < most


def test_5_only_layer_norm_makes_lengths_equal():
    norm, queries, _, _, keys = numbers(5)
    assert norm == 1 < min(queries, keys)


def test_6_a_cosine_of_random_directions_has_variance_one_by_d():
    _, variance, off = numbers(6)
    assert variance == pytest.approx(1, abs=2 * off)


def test_7_lead_and_weight_of_the_largest_of_64():
    lead_of_the_text, ahead, _, slope, lead, weight = numbers(7)
    assert ahead == pytest.approx(1 / (1 + 63 * math.exp(-16)), abs=1e-6)
    assert slope == pytest.approx(63 * math.exp(-16), rel=0.02)
    draws = 8 * np.sort(np.random.default_rng(7).standard_normal((4000, 64)))
    assert lead == pytest.approx((draws[:, -1] - draws[:, -2]).mean(), abs=0.3)
    assert weight == pytest.approx(softmax(draws).max(-1).mean(), abs=0.03)
    assert lead < 4 < lead_of_the_text == 16


def test_8_the_largest_weight_of_a_table():
    _, average, low, high = numbers(8)
    draws = np.random.default_rng(8).standard_normal((2000, 2, 10, 64))
    largest = softmax(draws[:, 0] @ draws[:, 1].transpose(0, 2, 1) / 8).max((1, 2))
    assert average == pytest.approx(largest.mean(), abs=0.02)
    assert [low, high] == pytest.approx(np.quantile(largest, [0.05, 0.95]), abs=0.03)
    assert low > 0.35


def test_9_float32_ends_at_88():
    assert "[nan, nan, nan]" in measured(9) and math.log(np.finfo(np.float32).max) < 89
    assert 85 + math.log(64) > math.log(np.finfo(np.float32).max)  # the sum is too large


def test_10_weights_of_three_by_hand():
    weights = [math.exp(score) / sum(map(math.exp, (1, 2, 3))) for score in (1, 2, 3)]
    first, second, hidden, third, *_, printed = numbers(10)
    assert [first, second, third] == pytest.approx(weights, abs=6e-5)
    assert hidden == 0 and printed == 0.9


def test_11_four_matrices_for_every_number_of_heads():
    assert [each for each in numbers(11) if each > 1000] == [4 * 512**2] * 3


def test_12_the_first_half_of_the_memory_is_the_first_half_of_the_tokens():
    assert str(sorted({place // 6 for place in range(18)})) in measured(12)


def test_13_shuffled_and_not_the_same():
    assert re.findall("True|False", measured(13)) == ["False", "True"]


def test_14_waves_by_their_speeds():
    waves = [wave(10.0**-i) for i in range(4) for wave in (math.sin, math.cos)]
    assert numbers(14) == pytest.approx(waves, abs=6e-4)


def test_15_learned_positions_are_no_waves():
    assert "(512, 384)" in measured(15) and numbers(15)[-1] < 0.1


def test_16_the_cosine_part_is_not_the_score():
    _, _, score, part = [float(each) for each in re.findall(r"-?\d+\.?\d*", measured(16))]
    assert abs(score - part) > 0.1


def test_17_rope_loses_near_and_alibi_far():
    _, _, _, near, alibi_near, interpolated, alibi_away = numbers(17)
    assert alibi_near < 0.05 < 0.2 < near and interpolated < 0.15 < 0.3 < alibi_away


def test_20_the_tanh_form_is_off_by_half_a_thousandth():
    z = np.linspace(-6, 6, 100_001)
    tanh = 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    gap = abs(tanh - 0.5 * z * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))).max()
    assert numbers(20)[-1] == pytest.approx(gap, rel=0.02)


def test_28_bytes_of_grids_and_of_rows():
    *_, naive, tiled, more, back, tiled_back, times = numbers(28)
    grid, rows = 2 * 4096**2, 4 * 2 * 4096 * 64  # of 16 bits: scores; q, k, v and the output
    assert naive == round((4 * grid + rows) / 1e6)  # scores and weights, written and read
    assert tiled < naive / 3 and tiled_back < back
    assert 0 < more < 1 and 1.5 < times < 2
