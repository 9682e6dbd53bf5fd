"""Train the experts of the plane that the package carries, for the picture of lecture 07.

    python tools/scripts/train_expert_runs.py        two minutes on one core

One run for each way of balancing and each size of the shared coordinate, as
``experts.train_experts`` trains it, from one seed, with the router kept on the way. Whether
training makes a favourite depends on the start (the lecture says how often it does), so the runs
whose shares start even have a seed with which it happens. The hash that is printed last is for
course_utils/data/package_files.py.
"""

from itertools import product

import safetensors.torch
import torch
from torch import Tensor

from course_utils.layers.moe import balance_loss
from lectures.l07_dynamic_pruning.experiments.expert_runs import (
    EXPERT_RUNS_FILE,
    EXPERTS,
    SHARED,
    STEPS,
    unseen_points,
)
from lectures.l07_dynamic_pruning.experiments.experts import (
    BALANCES,
    BIAS_RATE,
    LEARNING_RATE,
    PlaneExperts,
    plane_batch,
)
from tools.scripts.packaged import write_packaged

SEEDS = {shared: 1 if "from 0" in shared else 0 for shared in SHARED}
WEIGHT = 0.2


def main() -> None:
    """Train, write the file, and say what came out."""
    saved = {}
    for shared, balance in product(SHARED, BALANCES):
        saved |= {f"{shared}/{balance}/{name}": each for name, each in _run(shared, balance)}
    write_packaged(EXPERT_RUNS_FILE, safetensors.torch.save(saved))


def _run(shared: str, balance: str) -> list[tuple[str, Tensor]]:
    torch.manual_seed(SEEDS[shared])
    model = PlaneExperts(EXPERTS, **SHARED[shared])
    stream = torch.Generator().manual_seed(SEEDS[shared])
    adam = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    kept = [_kept(model)]
    for step in range(1, STEPS[-1] + 1):
        points, targets = plane_batch(stream)
        predicted, routing = model(points, every_expert=True)
        loss = (predicted - targets).square().mean()
        if balance == "loss":
            loss = loss + WEIGHT * balance_loss(routing)
        adam.zero_grad()
        loss.backward()
        adam.step()
        if balance == "bias":
            model.layer.rebalance(routing, BIAS_RATE)
        if step in STEPS:
            kept.append(_kept(model))
    routers, biases, errors, shares = map(torch.stack, zip(*kept, strict=True))
    said = " ".join(f"{share:.2f}" for share in shares.amax(dim=1))
    print(f"{shared}, {balance}: {said}; errors {errors[-1].tolist()}", flush=True)
    weights = [(f"model/{key}", each) for key, each in model.state_dict().items()]
    return [("routers", routers), ("biases", biases), ("errors", errors), *weights]


@torch.no_grad()
def _kept(model: PlaneExperts) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The router, its biases, the errors without and with a limit, and the shares."""
    points, targets = unseen_points()
    errors = []
    for capacity in (1.0, None):
        model.layer.capacity = capacity
        predicted, routing = model(points)
        errors.insert(0, (predicted - targets).square().mean())
    shares = routing.assigned / routing.chosen.numel()
    layer = model.layer
    return (
        layer.router.weight.detach().clone(),
        layer.balance_bias.clone(),
        torch.stack(errors),
        shares,
    )


if __name__ == "__main__":
    main()
