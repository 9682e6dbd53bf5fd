"""Merges of two partial softmaxes as a student would write them, right and wrong.

They use other torch functions than the exercise's own.
"""

import torch


def merge_with(shrink, larger=torch.fmax):
    """The merge with other factors: `shrink(m of a part, common m)`."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = larger(m_a, m_b)
        parts = [(shrink(m_a, m), l_a, acc_a), (shrink(m_b, m), l_b, acc_b)]
        l = sum(factor * l for factor, l, _ in parts)
        return m, l, sum(factor.unsqueeze(1) * acc for factor, _, acc in parts)

    return merge


def shrunk(part, m):
    return (part - m).exp()


def same_size(part, m):
    return torch.ones(len(m))


def right_merge(*parts):
    return merge_with(shrunk)(*parts)


def other_sums(l_of=None, acc_of=None):
    """The right m and factors, and other sums: each takes two parts (factor, l, acc)."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m, l, acc = right_merge(m_a, l_a, acc_a, m_b, l_b, acc_b)
        parts = [(shrunk(m_a, m), l_a, acc_a), (shrunk(m_b, m), l_b, acc_b)]
        columns = [(f.view(-1, 1), l.view(-1, 1), acc) for f, l, acc in parts]
        return m, l if l_of is None else l_of(parts), acc if acc_of is None else acc_of(columns)

    return merge


def one_sided(left):
    """Only the left part, or only the right one, gets its factor."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = torch.fmax(m_a, m_b)
        if left:
            f = shrunk(m_a, m)
            return m, f * l_a + l_b, f.view(-1, 1) * acc_a + acc_b
        f = shrunk(m_b, m)
        return m, l_a + f * l_b, acc_a + f.view(-1, 1) * acc_b

    return merge


def swapped(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.fmax(m_a, m_b)
    f_a, f_b = shrunk(m_a, m), shrunk(m_b, m)
    return m, f_b * l_a + f_a * l_b, f_b.view(-1, 1) * acc_a + f_a.view(-1, 1) * acc_b


def finished(m_a, l_a, acc_a, m_b, l_b, acc_b):
    lse = torch.logaddexp(m_a + l_a.log(), m_b + l_b.log())
    out = (m_a - lse).exp().view(-1, 1) * acc_a + (m_b - lse).exp().view(-1, 1) * acc_b
    return lse, torch.ones(len(lse)), out


def pythons_max(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = max(m_a, m_b)
    return merge_with(shrunk, lambda *_: m)(m_a, l_a, acc_a, m_b, l_b, acc_b)


def factor_as_a_row(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.fmax(m_a, m_b)
    f_a, f_b = shrunk(m_a, m), shrunk(m_b, m)
    return m, f_a * l_a + f_b * l_b, f_a * acc_a + f_b * acc_b


def factor_as_a_row_on_the_right(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.fmax(m_a, m_b)
    acc_a *= shrunk(m_a, m)
    acc_b *= shrunk(m_b, m)
    return m, l_a * shrunk(m_a, m) + l_b * shrunk(m_b, m), acc_a + acc_b


def reordered(order):
    """The right results in another order, by their places."""
    return lambda *parts: [right_merge(*parts)[place] for place in order]


def one_maximum(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.cat([m_a, m_b]).max()
    return merge_with(shrunk, lambda *_: m)(m_a, l_a, acc_a, m_b, l_b, acc_b)


def against_each_other(on_a, on_b):
    """Part a, part b or both get a factor measured against the other part, not the common m."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        f_a = shrunk(m_a, m_b) if on_a else same_size(m_a, m_b)
        f_b = shrunk(m_b, m_a) if on_b else same_size(m_b, m_a)
        acc = f_a.view(-1, 1) * acc_a + f_b.view(-1, 1) * acc_b
        return torch.fmax(m_a, m_b), f_a * l_a + f_b * l_b, acc

    return merge


def section_7(add):
    """The lecture's formula for finished outputs, applied to parts that are not finished."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        lse_a, lse_b = l_a.log() + m_a, l_b.log() + m_b
        lse = add(lse_a, lse_b)
        out = (lse_a - lse).exp().view(-1, 1) * (acc_a.T / l_a).T
        out += (lse_b - lse).exp().view(-1, 1) * (acc_b.T / l_b).T
        return lse, torch.ones(len(lse)), out

    return merge


def outputs_in_the_running_state(*parts):
    """The right m and l, and the output of section 7 as acc."""
    return *right_merge(*parts)[:2], section_7(torch.logaddexp)(*parts)[2]
