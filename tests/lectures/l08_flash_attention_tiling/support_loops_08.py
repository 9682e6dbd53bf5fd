"""The loop that exercise 3 of lecture 08 publishes with a fault, and edits of it."""

from collections.abc import Callable

from tests.teaching.support_exercises import defined

# The cell as the lecture publishes it.
LOOP = '''
def online_attention(q, k, v, block_n):
    """Softmax attention, block_n keys at a time. One factor is missing."""
    m = torch.full((len(q),), -torch.inf)
    l, acc = torch.zeros(len(q)), torch.zeros(len(q), v.shape[1])
    for start in range(0, len(k), block_n):
        tile = slice(start, start + block_n)
        scores = q @ k[tile].T / q.shape[1] ** 0.5
        m_new = torch.maximum(m, scores.max(dim=1).values)
        alpha = torch.exp(m - m_new)
        p = torch.exp(scores - m_new[:, None])
        l = alpha * l + p.sum(dim=1)
        acc = acc + p @ v[tile]
        m = m_new
    return acc / l[:, None]
'''

MENDED = ("acc = acc +", "acc = alpha[:, None] * acc +")


def edited(*edits: tuple[str, str]) -> Callable:
    """Return the published loop after replacing each text by another, once."""
    source = LOOP
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} is not in the loop once"
        source = source.replace(old, new)
    return defined(source, "online_attention")
