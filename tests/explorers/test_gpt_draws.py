"""The draws of the browser against those of the course, and their frequencies."""

import numpy as np
import torch

from course_utils.sampling import next_token_probabilities
from tests.explorers.support_gpt import in_node, numbers


def test_probabilities_are_those_of_the_course():
    generator = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(4, 17, generator=generator)).double()
    logits = torch.cat((logits, torch.tensor([[1.0, 3, 3, 0, 3] + 12 * [-3.0]]).double()))
    logits[3, 5:] = -torch.inf
    settings = [
        {"temperature": temperature, "k": k, "p": p}
        for temperature in (0, 1e-300, 0.3, 1, 2.5)
        for k in (None, 1, 2, 4, 17, 100)
        for p in (None, 1e-9, 0.2, 0.5, 0.95, 1 - 1e-9, 1)
    ]
    source = """
const rows = told.logits.map(row => row.map(each => each ?? -Infinity));
console.log(JSON.stringify(told.settings.map(
  each => joined(rows.map(row => nextTokenProbabilities(row, each))))));
"""
    rows = [[x if np.isfinite(x) else None for x in row] for row in logits.tolist()]
    got = in_node(source, logits=rows, settings=settings)
    for each, sent in zip(settings, got, strict=True):
        expected = next_token_probabilities(logits, **each).numpy()
        ours = numbers(sent, *expected.shape)
        assert np.allclose(ours, expected, rtol=1e-12, atol=0), each
        assert np.array_equal(ours > 0, expected > 0), each


def test_equal_sums_and_bad_settings():
    source = """
const even = told.widths.map(width => nextTokenProbabilities(new Float32Array(width), { p: 0.5 }));
const settings = [
  { temperature: -1 }, { temperature: NaN }, { k: 0 }, { k: 1.5 }, { p: 0 }, { p: 1.1 },
];
const said = settings.map(each => saidBy(() => nextTokenProbabilities([0, 1], each)));
for (const bad of [[NaN, 1], [-Infinity, -Infinity], [Infinity, 1]]) {
  said.push(saidBy(() => nextTokenProbabilities(bad)));
}
console.log(JSON.stringify([even.map(each => each.filter(share => share > 0).length), said]));
"""
    kept, said = in_node(source, widths=[4, 6, 10, 14, 100])
    assert kept == [2, 3, 5, 7, 50], "rounding does not keep one more"
    assert said == [
        "temperature must be 0 or more, got -1", "temperature must be 0 or more, got NaN",
        "k must be an integer from 1 on, got 0", "k must be an integer from 1 on, got 1.5",
        "p must be above 0 and at most 1, got 0", "p must be above 0 and at most 1, got 1.1",
        "logits must have a finite maximum, got NaN",
        "logits must have a finite maximum, got -Infinity",
        "logits must have a finite maximum, got Infinity",
    ]  # fmt: skip


def surprise(counts, expected):
    """How probable a chi-square is that is at least this large."""
    terms = (counts - expected) ** 2 / expected
    freedom = torch.tensor((terms.size - 1) / 2).double()
    return float(torch.special.gammaincc(freedom, torch.tensor(terms.sum() / 2)))


def test_draws_have_their_frequencies_and_repeat():
    shares = [0.05, 0.0, 0.4, 0.25, 0.3]
    source = """
const along = Array.from({ length: 20000 }, (_, position) => draw(told.shares, 7, position));
const across = Array.from({ length: 20000 }, (_, seed) => draw(told.shares, seed, 3));
const again = along.map((_, i) => draw(told.shares, 7, along.length - 1 - i)).reverse();
const certain = [[0, 1, 0], [0.1, 0.1, 0]].map(each => draw(each, 1, 1));
console.log(JSON.stringify([along, across, again, certain]));
"""
    along, across, again, certain = in_node(source, shares=shares)
    assert along == again, "a draw depends on the seed and the position alone"
    assert certain[0] == 1 and certain[1] < 2
    possible = np.flatnonzero(shares)
    expected = 20000 * np.array(shares)[possible]
    for drawn in (along, across):
        counts = np.bincount(drawn, minlength=5)
        assert counts[1] == 0
        assert surprise(counts[possible], expected) > 0.001
        pairs = np.zeros((5, 5))
        np.add.at(pairs, (drawn[::2], drawn[1::2]), 1)
        both = 10000 * np.outer(shares, shares)
        assert surprise(pairs[both > 0], both[both > 0]) > 0.001, "neighbours are related"
