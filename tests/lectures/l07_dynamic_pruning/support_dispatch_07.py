"""Wrong dispatches to experts, over one flat list of choices, and words of their diagnoses."""

from tests.teaching.support_exercises import defined


def dispatch_of(*body, start="", end="return out", kept="pick[:room]"):
    """A dispatch over the flat list of choices: `pick` are the places in it of expert e."""
    lines = [
        "N, k = chosen.shape",
        "out = torch.zeros(N, x.shape[1])",
        *([start] if start else []),
        "for e in range(len(experts)):",
        "    pick = (chosen.flatten() == e).nonzero()[:, 0]",
        f"    pick = {kept}",
        "    n = pick // k",
        *(f"    {line}" for line in body),
        end,
    ]
    source = "".join(f"    {line}\n" for line in lines)
    return defined(f"def dispatch(x, chosen, gates, experts, room):\n{source}", "dispatch")


GATE = "g = gates.flatten()[pick].unsqueeze(1)"
ADD = "out[n] += g * experts[e](x[n])"

right_dispatch = dispatch_of(GATE, ADD)


def gated_by(gate):
    """A dispatch with another gate."""
    return dispatch_of(f"g = {gate}", ADD)


DENSE = """\
def dispatch(x, chosen, gates, experts, room):
    every = torch.stack([expert(x) for expert in experts], dim=1)
    picked = every.gather(1, chosen[:, :, None].expand(-1, -1, x.shape[1]))
    return (gates[:, :, None] * picked).sum(dim=1)
"""

DENSE_IN_EACH_PLACE = """\
def dispatch(x, chosen, gates, experts, room):
    out = torch.zeros_like(x)
    for j in range(chosen.shape[1]):
        for e, expert in enumerate(experts):
            y = expert(x)
            mine = chosen[:, j] == e
            out[mine] += gates[mine, j, None] * y[mine]
    return out
"""

ONE_BY_ONE = """\
def dispatch(x, chosen, gates, experts, room):
    rows = []
    for row, numbers, weights in zip(x, chosen, gates):
        rows.append(sum(w * experts[e](row[None])[0] for e, w in zip(numbers, weights)))
    return torch.stack(rows)
"""

BY_ROWS = """\
def dispatch(x, chosen, gates, experts, room):
    out = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        j, n = torch.where(chosen == e)
        out[n] += gates[n, j].unsqueeze(1) * expert(x[n])
    return out
"""

WRONG_DISPATCH = {
    "all experts on all tokens": (
        defined(DENSE, "dispatch"),
        "35 rows were computed where 14 were chosen: every expert ran on all 7 tokens, expert 0",
    ),
    "all experts on all tokens, in each place": (
        defined(DENSE_IN_EACH_PLACE, "dispatch"),
        "70 rows were computed where 14 were chosen: every expert ran on all 7 tokens, 2 times",
    ),
    "no gates": (
        gated_by("1"),
        "For token 6, which chose experts 1, 0, one number is 1.88, expected 0.5884. The experts'",
    ),
    "the mean": (gated_by("1 / k"), "You take the mean of the 2 experts"),
    "the last expert wins": (
        dispatch_of(GATE, "out[n] = g * experts[e](x[n])"),
        "only the last one called is left",
    ),
    "first choice alone": (
        dispatch_of("pick = pick[pick % k == 0]", "n = pick // k", GATE, ADD),
        "its first expert alone: 7 rows instead of 14",
    ),
    "the first gate for all": (gated_by("gates[n][:, :1]"), "by the token's first gate"),
    "gates from the other end": (
        gated_by("gates.flip(1).flatten()[pick].unsqueeze(1)"),
        "the first choice gets the last gate",
    ),
    "gates by the expert's number": (
        gated_by("gates[n, e % k].unsqueeze(1)"),
        "You take the gate by the expert's number",
    ),
    "gates of the first rows": (
        gated_by("gates[:len(n), :1]"),
        "You take the gates from the top",
    ),
    "softmax over the gates again": (
        gated_by("torch.softmax(gates, 1).flatten()[pick].unsqueeze(1)"),
        "another softmax. They are given as they shall be used; those of token 0 sum to 1.317",
    ),
    "gates normalised": (
        gated_by("(gates / gates.sum(1, keepdim=True)).flatten()[pick].unsqueeze(1)"),
        "You divide the gates by their sum",
    ),
    "the gates' sum": (
        gated_by("gates.sum(1)[n].unsqueeze(1)"),
        "by the sum of all the token's gates",
    ),
    "gates on the inputs": (
        dispatch_of(GATE, "out[n] += experts[e](g * x[n])"),
        "You multiply what the expert reads by the gate",
    ),
    "gates on inputs and outputs": (
        dispatch_of(GATE, "out[n] += g * experts[e](g * x[n])"),
        "The gate is multiplied in twice",
    ),
    "stops at an unused expert": (
        dispatch_of("if not len(n): return out", GATE, ADD),
        "No token chose expert 2, and those after it were not called",
    ),
    "the input added": (
        dispatch_of(GATE, ADD, end="return out + x"),
        "You add `x` itself",
    ),
    "in the experts' order": (
        dispatch_of(
            GATE,
            "rows.append(g * experts[e](x[n]))",
            start="rows = []",
            end="return torch.cat(rows)",
        ),
        "You return 14 rows, one for each choice, in the experts' order",
    ),
    "token and place exchanged": (defined(BY_ROWS, "dispatch"), "gives rows first: `token, place`"),
    "gates not a column": (
        gated_by("gates.flatten()[pick]"),
        "Your gates have one axis, (n,), the expert's output has two, (n, 5)",
    ),
    "gates not a column, on the right": (
        dispatch_of("out[n] += experts[e](x[n]) * gates.flatten()[pick]"),
        "The expert's output has two axes, (n, 5), your gates one, (n,)",
    ),
    "all gates of a token": (
        gated_by("gates[n]"),
        "`gates[token]` are all 2 gates of each token, (n, 2); the output",
    ),
    "all gates of a token, on the right": (
        dispatch_of("out[n] += experts[e](x[n]) * gates[n]"),
        "The output is (n, 5), and `gates[token]` are all 2 gates",
    ),
    "token by token": (
        defined(ONE_BY_ONE, "dispatch"),
        "one expert was called 5 times, once for each of its tokens",
    ),
}


def kept_by(kept):
    """A dispatch that keeps other choices of a full expert."""
    return dispatch_of(GATE, ADD, kept=kept)


WRONG_ROOM = {
    "no limit": (
        kept_by("pick"),
        "Expert 3 has room for 3, was chosen 5 times, and computed 5 rows. Of those",
    ),
    "the last come first": (
        kept_by("pick.flip(0)[:room]"),
        "Where an expert is full you keep the last 3 that chose it",
    ),
    "the largest gates first": (
        kept_by("pick[gates.flatten()[pick].topk(min(room, len(pick))).indices]"),
        "you keep those with the largest gates",
    ),
    "first choices first": (
        kept_by("pick[torch.sort(pick % k, stable=True).indices][:room]"),
        "You serve all first choices before any second one",
    ),
    "room in each place": (
        kept_by("torch.cat([pick[pick % k == j][:room] for j in range(k)])"),
        "With room for 3 an expert computed up to 2 times as many",
    ),
    "one too many": (
        kept_by("pick[torch.arange(len(pick)) <= room]"),
        "room for 3 and computed 4 rows: one too many",
    ),
    "one too few": (kept_by("pick[:room - 1]"), "computed 2 rows: one too few"),
    "full experts skipped": (
        kept_by("pick if len(pick) <= room else pick[:0]"),
        "computed 0 rows. Too many do not close an expert",
    ),
}
