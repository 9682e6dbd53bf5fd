"""Where the source lectures and a run disagree, on what lecture 05 is about."""

import torch

from course_utils.teaching import source_note


def row_10():
    """A softmax with a hidden key."""
    printed = [0.0116, 0.0315, 0.0, 0.8569]
    row = torch.tensor([1.0, 2.0, -torch.inf, 3.0]).softmax(dim=-1)
    return source_note(
        10,
        claim="softmax([1, 2, −∞, 3]) = [0.0116, 0.0315, 0, 0.8569].",
        measured=f"{[round(weight, 4) for weight in row.tolist()]}, of sum 1. The printed row sums "
        f"to {sum(printed):.2f}.",
        holds="A hidden key gets exactly 0, and the others share all of the weight, in the ratios "
        "that they would have without it.",
    )
