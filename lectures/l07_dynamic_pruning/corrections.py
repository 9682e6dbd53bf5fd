"""Where the source lectures and a run disagree, on what lecture 07 is about."""

import torch
from torch.nn.functional import pad
from torch.utils.flop_counter import FlopCounterMode

from course_utils.attention import attend
from course_utils.layers.moe import MixtureOfExperts, expert_capacity
from course_utils.teaching import source_note
from lectures.l07_dynamic_pruning.experiments.expert_runs import load_trained_experts
from lectures.l07_dynamic_pruning.experiments.experts import (
    PlaneExperts,
    expert_angles,
    plane_batch,
)


def flops(function):
    """The multiplications and additions of a call."""
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


def some_experts():
    """Eight experts, two for each token, and 512 tokens."""
    layer = MixtureOfExperts(width=512, hidden=2048, num_experts=8, k=2, activation="relu")
    return layer, torch.randn(1, 512, 512)


def row_22():
    """Two of eight experts."""
    layer, x = some_experts()
    computed = flops(lambda: layer(x)) / flops(lambda: layer.experts[0](x))
    V, C, L, hidden, H, G, D, experts = 32000, 4096, 32, 14336, 32, 8, 128, 8
    attention, expert = 2 * C * H * D + 2 * C * G * D, 3 * C * hidden
    outside = 2 * V * C + C + L * (attention + 2 * C + experts * C)
    total, active = outside + L * experts * expert, outside + L * 2 * expert
    return source_note(
        22,
        claim="Top-2 of 8 experts computes a quarter of the dense model and has 8 times its "
        "numbers.",
        measured=f"Two experts cost {computed:.2f} times one network. Mixtral 8x7B, by its "
        f"published sizes: {total / 1e9:.1f} billion parameters, {active / 1e9:.1f} active.",
        holds="It is a quarter of running all eight, which no fast program does, and twice one "
        "network. Only the feed-forward part is multiplied: 46.7 billion, not 8 × 7 = 56.",
    )


def row_23():
    """All experts on all tokens."""
    layer, x = some_experts()

    def all_experts(tokens, gates, chosen):
        out = torch.zeros_like(tokens)
        for place in range(2):
            for number, expert in enumerate(layer.experts):
                mine = chosen[:, [place]] == number
                out += expert(tokens) * gates[:, [place]] * mine
        return out

    gates, chosen = torch.rand(512, 2), torch.randint(8, (512, 2))
    work = flops(lambda: all_experts(x[0], gates, chosen)) / flops(lambda: layer.experts[0](x))
    return source_note(
        23,
        claim="The example code of a mixture is cheap, since only two experts are used.",
        measured=f"It does the work of {work:.0f} networks for each token; dispatch that of 2.",
        holds="It runs every expert on every token, once for each place, and multiplies most "
        "results by 0. A saving exists only where nothing is computed.",
    )


def row_24():
    """Capacity."""
    room = expert_capacity(num_tokens=512, num_experts=8, k=2, factor=1.0)
    return source_note(
        24,
        claim="`expert_capacity=2` is the number of experts that a token takes.",
        measured="That number is k. The capacity of an expert, for 512 tokens, 8 experts, k = 2 "
        f"and a factor of 1, is {room} tokens.",
        holds="k belongs to a token, capacity to an expert: ceil(factor · N · k / E).",
    )


def row_25():
    """The work of top-k attention."""

    def keep_largest(q, k, v, kept):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        smallest = scores.topk(kept, dim=-1).values[..., -1:]
        return scores.masked_fill(scores < smallest, -torch.inf).softmax(dim=-1) @ v

    same = torch.ones(512, 64)  # multiplications do not depend on the numbers
    ratio = flops(lambda: keep_largest(same, same, same, 16)) / flops(
        lambda: attend(same, same, same)
    )
    return source_note(
        25,
        claim="Top-k attention makes attention faster; the timing shows it.",
        measured=f"As written it does {ratio:.2f} times the multiplications of dense attention, "
        "and the choice of the k largest comes on top.",
        holds="It forms all scores and multiplies by a matrix that is mostly 0. Its timing had no "
        "warm-up, and on a GPU it would have needed synchronisation.",
    )


def row_26():
    """Signal and noise in a score."""

    def signal_to_noise(k, d):
        q, key = torch.randn(2, 20_000, d)
        key[:, :k] = q[:, :k]  # the first k coordinates agree
        signal, noise = (q * key).split((k, d - k), dim=1)
        return (signal.sum(dim=1).mean() / noise.sum(dim=1).std()).item()

    return source_note(
        26,
        claim="The signal-to-noise ratio is k/(d − k).",
        measured="A query and a key agree in 16 coordinates, the others are random. With 21 times "
        "as many random ones, the ratio of a dot product falls by "
        f"{signal_to_noise(16, 64) / signal_to_noise(16, 1024):.1f}; √21 is {21**0.5:.1f}.",
        holds="k/(d − k) is the ratio of energies. What a score shows falls as k/√(d − k).",
    )


def row_27():
    """The angles between experts."""
    points, _ = plane_batch(torch.Generator().manual_seed(0))

    def mean_angle(model):  # between what two experts make of the same tokens, in degrees
        angles = expert_angles(model.layer, pad(points, (0, 1), value=model.common)[None])
        return angles[~torch.eye(len(angles), dtype=torch.bool)].mean().item()

    trained = mean_angle(load_trained_experts("5", "loss"))
    fresh = sum(mean_angle(PlaneExperts()) for _ in range(60)) / 60
    return source_note(
        27,
        claim="Experts cover orthogonal subspaces.",
        measured=f"Mean angle of what four experts make of the same points, trained with the "
        f"balance loss: {trained:.0f}°; untrained: {fresh:.0f}°.",
        holds="An idealisation. Near 90° is chance; training made the experts more similar.",
    )
