"""Lecture 07's explorers: what is drawn is what plain loops, formulas and packaged runs give."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_utils.layers.mod import MixtureOfDepths
from course_utils.lectures.l07_dynamic_pruning.experiments.adapting import MATRICES
from course_utils.lectures.l07_dynamic_pruning.experiments.depth_runs import CAPACITIES, depth_runs
from course_utils.lectures.l07_dynamic_pruning.experiments.experts import plane_batch
from course_utils.lectures.l07_dynamic_pruning.experiments.lora_runs import lora_runs
from course_utils.lectures.l07_dynamic_pruning.experiments.toy_experts import (
    TOY_BALANCES,
    TOY_EXPERTS,
    load_toy_experts,
)
from course_utils.lectures.l07_dynamic_pruning.explorers.depths import PREDICTOR, ROUTER, Depths
from course_utils.lectures.l07_dynamic_pruning.explorers.experts import (
    CELLS,
    EXTENT,
    UNLIMITED,
    Experts,
)
from course_utils.lectures.l07_dynamic_pruning.explorers.ranks import CODE, PROSE, RANKS, Ranks
from course_utils.lectures.l07_dynamic_pruning.explorers.shared_heads import (
    SHAPES,
    SharedHeads,
)
from course_utils.models.gpt2 import GPT2Block
from course_utils.models.small_gpt import SMALL_GPT
from course_utils.training import TEST_SEED


def live(kind):
    @pytest.fixture(scope="module")
    def made():
        explorer = kind()
        explorer.widget()
        return explorer

    return made


experts, groups, ranks, depths = map(live, (Experts, SharedHeads, Ranks, Depths))


def chosen(explorer, **values):
    defaults = {name: each.default for name, each in explorer.inputs.items()}
    explorer.set(**{**defaults, **values})
    return explorer.state


# Experts


def served(num_experts, k, balance, capacity):
    """Who gets which point, one point after the other, and what comes out."""
    model = load_toy_experts(num_experts, k, balance)
    points, targets = plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=512)
    tokens = torch.cat([points, torch.full((512, 1), model.common)], dim=1)
    room = np.inf if capacity is None else np.ceil(capacity * 512 * k / num_experts)
    load, asked = [0] * num_experts, [0] * num_experts
    lost, out = [0] * 512, tokens.clone()
    with torch.no_grad():
        shares = model.layer.router(tokens).softmax(dim=-1)
        for at, row in enumerate(shares):
            best = row.argsort(descending=True)[:k].tolist()
            total = sum(row[expert] for expert in best) if k > 1 else 1
            for expert in best:
                asked[expert] += 1
                if load[expert] < room:
                    load[expert] += 1
                    out[at] += row[expert] / total * model.layer.experts[expert](tokens[at])
                else:
                    lost[at] += 1
    return asked, load, lost, (out[:, :2] - targets).square().mean().item()


@pytest.mark.parametrize(
    ("num_experts", "k", "balance", "capacity"),
    [(4, 1, 0.0, None), (4, 1, 0.1, 1.0), (8, 2, 0.03, 0.75), (2, 2, 0.01, 0.5)],
)
def test_points_against_a_loop(experts, num_experts, k, balance, capacity):
    state = chosen(
        experts, experts=num_experts, k=k, balance=balance, capacity=capacity or UNLIMITED
    )
    asked, load, lost, error = served(num_experts, k, balance, capacity)
    assert state.asked.tolist() == asked and state.load.tolist() == load
    assert state.lost.tolist() == lost
    assert state.error == pytest.approx(error, rel=1e-5)
    assert (state.expert_capacity is None) == (capacity is None)
    assert capacity is None or state.expert_capacity == capacity * 512 * k / num_experts
    # The marks: each point once, by how many of its choices it lost.
    counts = [len(dots.get_xdata()) for dots in experts._points]
    assert counts == [lost.count(0), sum(0 < each < k for each in lost), lost.count(k)]
    ends = [bar.get_xdata()[1] for bar in experts._bars[:num_experts]]
    assert ends == load and not any(bar.get_visible() for bar in experts._bars[num_experts:])
    dropped = experts._dropped.get_xdata().reshape(-1, 3)
    assert dropped[:, :2].tolist() == [list(pair) for pair in zip(load, asked, strict=True)]


def test_numbers_stand_in_their_parts(experts):
    for count in TOY_EXPERTS:
        for balance in TOY_BALANCES:
            state = chosen(experts, experts=count, balance=balance)
            model = load_toy_experts(count, 1, balance)
            _, routing = model(torch.tensor(state.labels[state.labelled], dtype=torch.float32))
            assert routing.chosen[:, 0].tolist() == np.flatnonzero(state.labelled).tolist()
            shown = [number.get_visible() for number in experts._numbers]
            assert shown[:count] == state.labelled.tolist() and not any(shown[count:])
    # The first row of the picture is the upper edge of the plane.
    last = CELLS - 1
    for row, column in ((0, 0), (7, 53), (last, 11), (last // 2, last // 2)):
        place = torch.tensor([[2 * column - last, last - 2 * row]]) * EXTENT / CELLS
        assert state.plane[row, column] == model(place)[1].chosen.item()
    assert len(np.unique(state.plane)) > 4
    assert abs(state.points).max() < EXTENT


def test_less_capacity_more_drops(experts):
    states = [chosen(experts, balance=0.1, capacity=capacity) for capacity in (0.25, 1.0, 2.0)]
    drops = [state.lost.sum() for state in states]
    assert drops[0] > drops[1] > drops[2] == 0
    assert states[0].error > states[1].error > states[2].error


def test_the_readers_random_numbers_stay():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Experts(k=2, capacity=0.5).png()
    assert torch.equal(torch.rand(3), expected)


def test_words_of_the_experts(experts):
    state = chosen(experts, capacity=1.0)
    assert "one expert gets 505 of 512 choices (99%; an equal share is 128), and 2 get nothing" in (
        experts.words
    )
    lost = int(state.lost.sum())
    assert (
        f"Each has room for 128 (capacity factor 1): {lost} choices are dropped; {lost} points"
        in (experts.words)
    )
    assert "one of two" not in experts.words
    chosen(experts, experts=8, k=2, balance=0.1, capacity=1.25)
    assert "lose one of two (+)" in experts.words
    chosen(experts, balance=0.1, capacity=2.0)
    assert "no choice is dropped" in experts.words and "the least busy one" in experts.words


# Shared heads


@pytest.mark.parametrize(("H", "G"), [(2, 1), (32, 8), (64, 64), (128, 4)])
def test_heads_as_with_repeated_keys(groups, H, G):
    state = chosen(groups, heads=H, key_value_heads=G)
    assert state.reads.tolist() == torch.arange(G).repeat_interleave(H // G).tolist()
    lines = [line.get_xydata().reshape(-1, 3, 2) for line, _, _ in groups._groups]
    ends = np.concatenate([line[:, 1, 0] for line in lines])
    assert len(ends) == H and len(np.unique(ends)) == G
    for (_, circles, squares), line in zip(groups._groups, lines, strict=True):
        assert circles.get_xdata().tolist() == line[:, 0, 0].tolist()
        assert set(squares.get_xdata()) == set(line[:, 1, 0])


def test_caches_of_published_models(groups):
    for label, expected in {"Llama 2 7B": 2**31, "Mistral 7B": 2**29, "multi-query": 2**26}.items():
        groups.set(**groups.scenes[label])
        assert groups.state.cache == expected, label
    for shape, (layers, head_width) in SHAPES.items():
        state = chosen(groups, shape=shape, heads=16, key_value_heads=2, length=2048, batch=4)
        assert state.counts.tolist() == [1, 2, 4, 8, 16]
        assert state.cache == state.bytes[1] == 2 * layers * 2 * head_width * 2048 * 4 * 2
        assert (state.bytes / state.bytes[0]).tolist() == state.counts.tolist()


def test_bars_are_shares_of_the_whole_cache(groups):
    groups.set(**groups.scenes["… for 32 readers"])
    ends = groups._bars.get_xydata().reshape(-1, 3, 2)[:, 1]
    assert ends.tolist() == [[2.0**row / 64, row] for row in range(7)]
    assert groups._chosen.get_xydata().tolist() == [[0, 3], [8 / 64, 3]]
    whole = 64 * 2 * 80 * 128 * 4096 * 32 * 2  # bytes
    for name, size in (("laptop 16 GB", 16e9), ("H100 80 GB", 80e9)):
        line = groups._memories[name]
        assert line.get_visible() and set(line.get_xdata()) == {size / whole}
    groups.set(**groups.scenes["Llama 2 7B"])
    assert not any(line.get_visible() for line in groups._memories.values())


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (1, "A laptop of 16 GB would hold it."),
        (32, "It takes more than a laptop's 16 GB."),
        (64, "It takes more than a laptop's 16 GB and an H100's 80 GB."),
    ],
)
def test_what_would_hold_the_cache(groups, batch, said):
    groups.set(**{**groups.scenes["Llama 2 70B"], "batch": batch})
    assert groups.words.endswith(said)


def test_words_of_the_shared_heads(groups):
    groups.set(**groups.scenes["Llama 2 70B"])
    assert "every 8 query heads share keys and values (grouped)" in groups.words
    assert "= 1.34 GB for one text, 1/8 of the 10.7 GB of 64 heads" in groups.words
    chosen(groups, heads=4, key_value_heads=16)
    assert "G = H = 4 (16 would be more than there are queries)" in groups.words
    chosen(groups, key_value_heads=1, batch=2)
    assert (
        "G = 1: all 32 query heads attend to the same" in groups.words and "2 texts" in groups.words
    )


# Ranks


def test_losses_are_the_packaged_ones(ranks):
    found = lora_runs()
    by_rank = {run.rank: run for run in found.runs[: len(RANKS)]}
    for asked, name in ((CODE, "code"), (PROSE, "prose")):
        state = chosen(ranks, rank=8, asked=asked)
        for at, rank in enumerate(RANKS):
            assert state.losses[at].tolist() == getattr(by_rank[rank], name).tolist()
            assert state.learned[at] == rank * 3 * (4 * (128 + 128) + 2 * (128 + 512))
        assert state.matrices.tolist() == getattr(found.runs[-2], name).tolist()
        assert state.everything.tolist() == getattr(found.runs[-1], name).tolist()
        assert len(state.cut) == (len(RANKS) if asked == CODE else 0)
        low, high = ranks._losses.get_ylim()
        assert low < min(state.losses.min(), state.everything.min()) and state.before < high
    assert found.runs[-2].only_matrices and not found.runs[-1].only_matrices


@pytest.mark.parametrize("rank", [1, 16, 64])
def test_what_the_rank_keeps(ranks, rank):
    for block, matrix in ((0, "query"), (2, "contract")):
        state = chosen(ranks, rank=rank, block=block, matrix=matrix)
        largest = np.sort(state.spectrum**2)[::-1]
        assert state.energy == pytest.approx(largest[:rank].sum() / largest.sum(), rel=1e-5)
        assert state.spectrum.shape == (128,) and (np.diff(state.spectrum) <= 0).all()
        kept, rest = (
            line.get_xydata().reshape(-1, 3, 2)[:, 1] for line in (ranks._kept, ranks._rest)
        )
        assert kept[:, 0].tolist() == list(range(1, rank + 1))
        np.testing.assert_allclose(
            np.concatenate([kept, rest])[:, 1], state.spectrum / state.spectrum[0]
        )


def test_each_matrix_has_its_spectrum(ranks):
    tops = {
        chosen(ranks, block=block, matrix=matrix).spectrum[0]
        for block in range(3)
        for matrix in MATRICES
    }
    assert len(tops) == 18


def test_words_of_the_ranks(ranks):
    state = chosen(ranks, rank=1)
    assert "Rank 1: 6,912 numbers are trained, 0.9% of the model's 742,528" in ranks.words
    assert "is cut to rank 1. Of that change in block 0, query, the largest singular value" in (
        ranks.words
    )
    assert f"before training {state.before:.2f}" in ranks.words
    chosen(ranks, rank=16, asked=PROSE)
    assert "Loss on unseen prose" in ranks.words and "is cut to" not in ranks.words
    assert "the 16 largest singular values hold" in ranks.words


# Depths


@pytest.mark.parametrize("capacity", [0.25, 1.0])
def test_flops_are_those_counted(depths, capacity):
    state = chosen(depths, capacity=capacity)
    layer = MixtureOfDepths(GPT2Block(SMALL_GPT), capacity, SMALL_GPT.width)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(torch.randn(1, len(state.tokens), SMALL_GPT.width))
    assert 3 * counter.get_total_flops() == state.spent.sum() + state.deciding


def test_passes_are_the_packaged_ones(depths):
    found = depth_runs().texts[1]
    for chooser, masks in ((ROUTER, found.routed), (PREDICTOR, found.predicted)):
        for capacity in CAPACITIES:
            state = chosen(depths, capacity=capacity, chooser=chooser, text="second")
            mask = masks[capacity].numpy()
            assert (state.passes == mask).all() and state.passes.shape == (3, 40)
            drawn = np.zeros((3, 40), bool)
            drawn[tuple(depths._passed.get_xydata().astype(int)[:, ::-1].T)] = True
            assert (drawn == mask).all()
            idle = (mask.sum(axis=0) == 0).nonzero()[0]
            assert depths._idle.get_xdata().tolist() == idle.tolist()
            assert f"{len(idle)} pass" in depths.words


def test_words_of_the_depths(depths):
    chosen(depths, capacity=0.25)
    assert "each block takes 10 of 40 tokens" in depths.words
    assert "Scores and mixing cost 6% of what they cost for every token, projections and" in (
        depths.words
    )
    assert "feed-forward 25%" in depths.words and "chosen by chance" in depths.words
    chosen(depths, capacity=1.0)
    assert "40 pass every block, 0 pass no block" in depths.words
    assert "chance" not in depths.words
