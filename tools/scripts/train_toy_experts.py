"""Train the experts of the plane whose answers lecture 07's source notes compare.

    python tools/scripts/train_toy_experts.py        a minute on one core

One run of ``experts.train_experts`` for each number of experts, each k and each weight of the
balance loss, with its own settings and one seed. The hash that is printed last is for
course_utils/data/package_files.py.
"""

from itertools import product

import safetensors.torch

from course_utils.lectures.l07_dynamic_pruning.experiments.experts import (
    PlaneExperts,
    expert_shares,
    plane_error,
    train_experts,
)
from course_utils.lectures.l07_dynamic_pruning.experiments.toy_experts import (
    TOY_BALANCES,
    TOY_EXPERTS,
    TOY_FILE,
    TOY_KS,
    toy_name,
)
from tools.scripts.packaged import write_packaged

SEED = 0


def main() -> None:
    """Train, write the file, and say what came out."""
    weights = {}
    for num_experts, k, balance in product(TOY_EXPERTS, TOY_KS, TOY_BALANCES):
        how, weight = ("loss", balance) if balance else ("none", 1.0)  # 1.0 is not used
        done = train_experts([how], num_experts=num_experts, k=k, seeds=[SEED], weight=weight)
        name, model = toy_name(num_experts, k, balance), done[how].models[0]
        assert isinstance(model, PlaneExperts)
        weights |= {f"{name}/{key}": value for key, value in model.state_dict().items()}
        shares = " ".join(f"{share:.2f}" for share in expert_shares(model))
        print(f"{name}: shares {shares}, error {plane_error(model):.3f}")
    write_packaged(TOY_FILE, safetensors.torch.save(weights))


if __name__ == "__main__":
    main()
