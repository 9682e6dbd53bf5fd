"""Wrong answers to the exercises of lecture 07, each beside words that its diagnosis must hold.

They are written anew, as a student would write them: the dispatch over one flat list of choices
(``support_dispatch_07``), the balance loss with one-hot counts, LoRA and grouped scores from a line
of code.
"""

from tests.teaching.support_exercises import defined


def balance_of(*lines):
    """A balance loss from one-hot counts; the lines change f, P or E, or return at once."""
    body = [
        "N, E = probabilities.shape",
        "k = chosen.shape[1]",
        "f = torch.nn.functional.one_hot(chosen, E).float().mean(dim=(0, 1))",
        "P = probabilities.sum(0) / N",
        *lines,
        "return E * (f @ P)",
    ]
    source = "".join(f"    {line}\n" for line in body)
    return defined(f"def balance_loss(probabilities, chosen):\n{source}", "balance_loss")


ONE_HOT = "torch.nn.functional.one_hot(chosen, E).float().sum(1)"

WRONG_BALANCE = {
    "no factor E": (
        balance_of("return (f * P).sum()"),
        "gave 0.2616, expected 1.308. The factor",
    ),
    "shares twice": (balance_of("P = f"), "gave 1.384, expected 1.308. You multiply f by itself"),
    "probabilities twice": (balance_of("f = P"), "You multiply P by itself"),
    "probabilities twice, one without gradient": (
        balance_of("f = P.detach()"),
        "for expert 1 it is 0.3636, and P is 0.1914",
    ),
    "P over the chosen alone": (
        balance_of(f"P = (probabilities * {ONE_HOT}).mean(0)"),
        "only where its expert was chosen",
    ),
    "P from the gates": (
        balance_of(f"P = (probabilities * {ONE_HOT}).sum(0)", "P = P / P.sum()"),
        "made of the chosen probabilities, as shares of their sum",
    ),
    "sum of the probabilities": (balance_of("P = P * N"), "That is N = 11 times as much"),
    "counts for shares": (balance_of("f = f * N * k"), "That is N·k = 22 times as much"),
    "shares of the tokens": (
        balance_of(f"f = {ONE_HOT}.mean(0)"),
        "a share of the 11 tokens, so that the f of all experts sum to k = 2",
    ),
    "no gradient": (
        balance_of("return torch.tensor((E * f @ P).item())"),
        "each token's probability of expert 1 should get 0.1653",
    ),
    "the largest probability counted": (
        balance_of("f = torch.bincount(probabilities.argmax(1), minlength=E) / N"),
        "Your f counts where each token's probability is largest",
    ),
    "first choices counted": (
        balance_of("f = torch.bincount(chosen[:, 0], minlength=E) / N"),
        "the first column of `chosen`. All 2 columns",
    ),
    "mean over the experts": (
        balance_of("return E * (f * probabilities.mean(1)).sum()"),
        "Your P has 11 numbers, one for each token: the mean over the experts, and",
    ),
    "mean over the experts, on the left": (
        balance_of("return E * (probabilities.mean(1) * f).sum()"),
        "It is to have 5, one for each expert",
    ),
    "counts that end early": (
        balance_of("f = chosen.flatten().bincount() / chosen.numel()", "return E * (f * P).sum()"),
        "your f is too short. Say how many there are: `minlength=5`",
    ),
    "counts that end early, on the right": (
        balance_of("f = chosen.flatten().bincount() / chosen.numel()", "return E * (P * f).sum()"),
        "f is too short for P",
    ),
    "E squared": (balance_of("return E * E * (f @ P)"), "That is E = 5 times as much"),
    "k for E": (balance_of("return k * (f @ P)"), "Your factor is k = 2, the experts of a token"),
    "the other sign": (balance_of("return -E * (f @ P)"), "The sign is the other one"),
    "cross-entropy": (
        balance_of("return -(f @ torch.log(P))"),
        "the cross-entropy of f and P",
    ),
    "one number for each expert": (balance_of("return E * f * P"), "You return 5 numbers"),
}


def merge_by(formula):
    """A merge from one formula."""
    return defined(f"def merge(W, A, B, alpha):\n    return {formula}\n", "merge")


IN_PLACE = """\
def merge(W, A, B, alpha):
    return W.addmm_(B, A, alpha=alpha / A.shape[0])
"""

MOVED = "is -1.923 and should move by -2.995, to -4.918; yours moves by "

WRONG_MERGE_LORA = {
    "W changed in place": (
        defined(IN_PLACE, "merge"),
        "the W that you were given has changed: W[6, 2] was -1.923",
    ),
    "no scale": (
        merge_by("W + B @ A"),
        f"{MOVED}-1.497. The factor alpha/r = 6/3 = 2 is missing",
    ),
    "alpha, not divided": (
        merge_by("W + alpha * (B @ A)"),
        f"{MOVED}-8.984. You multiply by",
    ),
    "alpha times r": (merge_by("W + alpha * B.shape[1] * (B @ A)"), "You multiply by alpha·r"),
    "one over r": (merge_by("W + (B @ A) / B.shape[1]"), "You divide by r = 3 and leave alpha"),
    "upside down": (merge_by("W + B.shape[1] / alpha * (B @ A)"), "upside down: alpha/r = 2"),
    "the root of r": (
        merge_by("W + alpha / math.sqrt(A.size(0)) * (B @ A)"),
        "You divide by √r = 1.732",
    ),
    "the scale twice": (
        merge_by("W + (alpha / len(A) * B) @ (alpha / len(A) * A)"),
        "once on A and once on B",
    ),
    "divided by the input's width": (
        merge_by("W + alpha / A.shape[-1] * (B @ A)"),
        "You divide by 5, the width of the input",
    ),
    "divided by the output's width": (
        merge_by("W + alpha / B.shape[0] * (B @ A)"),
        "You divide by 7, the width of the output",
    ),
    "subtracted": (merge_by("W - alpha / len(A) * (B @ A)"), "yours moves by 2.995. You subtract"),
    "added twice": (
        merge_by("W + alpha / len(A) * (B @ A) + alpha / len(A) * (B @ A)"),
        "The change is in it twice",
    ),
    "the change alone": (merge_by("(B @ A) * alpha / len(A)"), "without the W that it changes"),
    "all of it scaled": (
        merge_by("(W + B @ A) * alpha / len(A)"),
        "W is multiplied by alpha/r",
    ),
    "nothing added": (merge_by("W + 0 * (B @ A)"), "You return W as it came"),
    "A times B": (
        merge_by("W + alpha / len(A) * (A @ B)"),
        "`A @ B` multiplies (r, in) = (3, 5) by (out, r) = (7, 3)",
    ),
    "transposed": (
        merge_by("W + alpha / len(A) * A.t() @ B.t()"),
        "`A.T @ B.T` is (in, out) = (5, 7), the change transposed; W is",
    ),
    "transposed, on the left": (
        merge_by("alpha / len(A) * (B @ A).t() + W"),
        "it does not fit W, (out, in)",
    ),
    "elementwise": (
        merge_by("W + alpha / len(A) * (B * A)"),
        "`B * A` multiplies number",
    ),
    "elementwise, A first": (
        merge_by("W + alpha / len(A) * (A * B)"),
        "`A * B` multiplies number by number",
    ),
    "both transposed, B first": (
        merge_by("W + alpha / len(A) * torch.mm(B.t(), A.t())"),
        "`B.T @ A.T` multiplies (r, out) by (in, r)",
    ),
}


def scores_of(*lines):
    """Grouped scores in lines; the last one is what is returned."""
    body = [
        "B, H, T, D = q.shape",
        "G, S = k.shape[1], k.shape[2]",
        "R = H // G",
        "folded = q.view(B, G, R * T, D)",
        *lines[:-1],
        f"return {lines[-1]}",
    ]
    source = "".join(f"    {line}\n" for line in body)
    return defined(f"def grouped_scores(q, k):\n{source}", "grouped_scores")


PRODUCT = "torch.matmul(folded, k.transpose(2, 3)).view(B, H, T, S)"

WRONG_GROUPED_SCORES = {
    "keys repeated": (
        scores_of("q @ k[:, :, None].expand(B, G, R, S, D).reshape(B, H, S, D).transpose(2, 3)"),
        "held 2508 new numbers or more: the keys of all 6 heads, where there are 836",
    ),
    "head h reads h mod G": (
        scores_of("q @ k.repeat(1, R, 1, 1).transpose(2, 3)"),
        "A score of head 1 is -1.072, expected 1.077. It reads key head 1; it belongs to group 0",
    ),
    "all read the first": (
        scores_of("q @ k[:, 0, None].transpose(2, 3)"),
        "that is multi-query attention. Here there are G = 2",
    ),
    "keys averaged": (
        scores_of("q @ k.mean(1)[:, None].transpose(2, 3)"),
        "You average the keys over the heads",
    ),
    "the other way through the heads": (
        scores_of("(folded @ k.flip(1).transpose(2, 3)).view(B, H, T, S)"),
        "the first 3 heads read key head 0",
    ),
    "tokens before heads": (
        scores_of(
            "mixed = q.view(B, G, R, T, D).transpose(2, 3).reshape(B, G, T * R, D)",
            "(mixed @ k.transpose(2, 3)).view(B, H, T, S)",
        ),
        "is 1.775, expected -1.754. Right for one query, wrong for 2",
    ),
    "scaled": (scores_of(f"{PRODUCT} / math.sqrt(D)"), "You divide by √D = √19 = 4.359"),
    "softmax": (scores_of(f"torch.softmax({PRODUCT}, 3)"), "Asked for are the scores before it"),
    "softmax of the scaled": (
        scores_of(f"torch.softmax({PRODUCT} / math.sqrt(D), 3)"),
        "You scaled and took the softmax",
    ),
    "left folded": (
        scores_of("folded @ k.transpose(2, 3)"),
        "You return (B, G, H/G·T, S), with the queries of a group still below each other",
    ),
    "left in groups": (
        scores_of("(folded @ k.transpose(2, 3)).view(B, G, R, T, S)"),
        "You return (B, G, H/G, T, S), five axes",
    ),
    "queries averaged": (
        scores_of("q.view(B, G, R, T, D).mean(2) @ k.transpose(2, 3)"),
        "You average the queries of a group, and get G = 2 heads",
    ),
    "one query head for each key head": (
        scores_of("q.view(B, G, R, T, D)[:, :, 0] @ k.transpose(2, 3)"),
        "one of each group. All 3 of them ask",
    ),
    "heads not matched": (
        scores_of("q @ k.transpose(2, 3)"),
        "6 heads of queries meet 2 of keys",
    ),
    "keys not transposed": (scores_of("(folded @ k).view(B, H, T, S)"), "The fold is there"),
    "all axes reversed": (
        scores_of("(folded @ k.permute(3, 2, 1, 0)).view(B, H, T, S)"),
        "`k.T` reverses all four axes",
    ),
}
