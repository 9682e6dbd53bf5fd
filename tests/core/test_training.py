"""The trainer: each run is the one it would be alone, and none ends early without a word."""

import time

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_utils.attention import attend
from course_utils.masks import causal_mask
from course_utils.training import (
    Training,
    learning_rates_times,
    rate_factor,
    train,
    with_bar,
)

V, C, H, T, B = 7, 6, 2, 5, 3
# In float64, twenty steps of Adam keep rounding (1e-16) below this; a run that saw another's data,
# weights or optimiser state is off by more than 1e-3.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


class Tiny(nn.Module):
    """One causal attention layer on ``attend``, with all its checks and annotations."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(V, C)
        self.project = nn.Linear(C, 3 * C)
        self.norm = nn.LayerNorm(C)
        self.output = nn.Linear(C, V)
        self.register_buffer("shift", torch.arange(T)[:, None] / T)
        self.double()

    def forward(self, token_ids):
        x = self.tokens(token_ids) + self.shift
        q, k, v = (
            part.unflatten(-1, (H, -1)).transpose(1, 2)
            for part in self.project(self.norm(x)).chunk(3, -1)
        )
        out, _ = attend(q, k, v, may_attend=causal_mask(T))
        return self.output(x + out.transpose(1, 2).flatten(2))


def batch(generator):
    ids = torch.randint(V, (B, T), generator=generator)
    return ids, ids.roll(1, dims=1)


def cross_entropy(model, ids, targets):
    return F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())


def train_by_hand(seed, steps, optimizer, learning_rate, warmup=1):
    """The same run in the plain way: one module, torch's optimiser and schedule, no vmap."""
    torch.manual_seed(seed)
    model, stream = Tiny(), torch.Generator().manual_seed(seed)
    update = optimizer(model.parameters(), lr=learning_rate)
    rises = torch.optim.lr_scheduler.LambdaLR(update, lambda step: min(1, (step + 1) / warmup))
    losses = []
    for _ in range(steps):
        loss = cross_entropy(model, *batch(stream))
        update.zero_grad()
        loss.backward()
        update.step()
        rises.step()
        losses.append(loss.item())
    return model, torch.tensor(losses, dtype=torch.float64)


def quick(**changed) -> Training:
    options = {"steps": 3, "learning_rate": 0.01}
    return train(Tiny, batch, cross_entropy, **(options | changed))


@pytest.mark.parametrize(
    ("name", "optimizer", "rate"),
    [("adam", torch.optim.Adam, 0.01), ("sgd", torch.optim.SGD, 0.5)],
)
@pytest.mark.parametrize("warmup", [1, 4])
@pytest.mark.parametrize("seeds", [(11, 2, 5), (2,)])
def test_each_run_as_trained_by_hand(name, optimizer, rate, warmup, seeds):
    steps = 11
    options = {"learning_rate": rate, "optimizer": name, "warmup": warmup}
    together = quick(seeds=seeds, steps=steps, **options)
    assert together.losses.shape == (len(seeds), steps)
    for row, seed in enumerate(seeds):
        model, losses = train_by_hand(seed, steps, optimizer, rate, warmup)
        torch.testing.assert_close(together.losses[row], losses, **CLOSE)
        for ours, theirs in zip(together.models[row].parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, **CLOSE)


def test_seconds():
    start = time.perf_counter()
    assert 0 < quick().seconds < time.perf_counter() - start


def test_global_seed_is_untouched():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    quick()
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize("woken", [True, False])
def test_random_numbers_of_a_gpu_are_untouched(monkeypatch, woken):
    """A pretend GPU: what torch is asked for its generator, and whether it is woken for it."""
    state, asked = {"seed": 5}, []

    def seed_all(seed):
        asked.append(seed)
        state["seed"] = seed

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: woken)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: False)
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seed_all)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: dict(state))
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda kept, device: state.update(kept))
    torch.manual_seed(41)
    state["seed"] = 41 if not woken else 5
    quick(seeds=(3, 7), steps=1)
    assert {3, 7} <= set(asked), "a model built on the GPU draws from the seed, too"
    assert state["seed"] == (5 if woken else 41)


@pytest.mark.parametrize(
    "off", [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)]
)
@pytest.mark.parametrize("seeds", [(4,), (4, 9)])
def test_gradients_switched_off(off, seeds):
    expected = quick(seeds=seeds)
    with off():
        found = quick(seeds=seeds)
        assert not torch.is_grad_enabled()
    assert torch.equal(found.losses, expected.losses)
    assert not any(weight.is_inference() for weight in found.models[0].parameters())


@pytest.mark.parametrize(
    ("steps", "every", "expected"), [(7, 3, (3, 6, 7)), (6, 3, (3, 6)), (2, 5, (2,))]
)
def test_steps_of_the_scores(steps, every, expected):
    seen = []

    def evaluate(model):
        assert isinstance(model, Tiny) and not torch.is_grad_enabled()
        seen.append(model.output.bias.clone())
        return model.output.bias.sum()

    done = quick(seeds=(0, 1), steps=steps, every=every, evaluate=evaluate)
    assert done.steps_checked == expected and done.scores.shape == (2, len(expected))
    assert len({tuple(bias.tolist()) for bias in seen}) == 2 * len(expected)
    torch.testing.assert_close(
        done.scores[:, -1], torch.stack([model.output.bias.sum() for model in done.models])
    )
    earlier = quick(seeds=(0, 1), steps=expected[0])
    torch.testing.assert_close(
        done.scores[:, 0], torch.stack([model.output.bias.sum() for model in earlier.models])
    )


class Cliff(nn.Module):
    """The square root of a weight: NaN for the seeds whose first weight is negative."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(()))

    def forward(self, x):
        return self.weight.sqrt() * x


def numbers(generator):
    return (torch.rand(3, generator=generator),)


def mean(model, x):
    return model(x).mean()


def seeds_by_sign():
    firsts = {}
    for seed in range(20):
        torch.manual_seed(seed)
        firsts[seed] = torch.randn(()).item()
    up = [seed for seed, first in firsts.items() if first > 0.5]
    down = [seed for seed, first in firsts.items() if first < 0]
    return up, down


def test_a_diverged_run_leaves_the_others():
    (up, *_), (down, *_) = seeds_by_sign()
    done = train(Cliff, numbers, mean, seeds=(down, up), steps=5, learning_rate=0.01)
    assert done.losses[0].isnan().all() and done.losses[1].isfinite().all()
    alone = train(Cliff, numbers, mean, seeds=[up], steps=5, learning_rate=0.01)
    torch.testing.assert_close(done.losses[1], alone.losses[0])


def test_it_ends_when_all_have_diverged():
    _, down = seeds_by_sign()
    with pytest.warns(UserWarning, match=r"after 1 of 5 steps: the loss of every run is NaN"):
        done = train(Cliff, numbers, mean, seeds=down[:2], steps=5, learning_rate=0.01)
    assert done.losses.isnan().all() and done.losses.shape == (2, 1)


def test_frozen_parameters_stay():
    def build():
        model = Tiny()
        model.tokens.requires_grad_(False)
        return model

    done = train(build, batch, cross_entropy, seeds=(4,), steps=3, learning_rate=0.1)
    torch.manual_seed(4)
    start = Tiny()
    assert torch.equal(done.models[0].tokens.weight, start.tokens.weight)
    assert not torch.equal(done.models[0].output.weight, start.output.weight)


# The warm-up.


def test_the_rate_falls_at_the_end():
    """The gradient of a sum is 1, so a weight falls by the learning rate: it adds all of them."""

    def fall(**options):
        done = train(
            lambda: torch.nn.Linear(1, 1, bias=False),
            lambda _: (torch.ones(1, 1),), lambda model, x: model(x).sum(),
            seeds=(0,), learning_rate=1e-3, optimizer="sgd", **options,
        )  # fmt: skip
        return (done.losses[0, 0] - done.models[0].weight.sum()).item()

    # 13 steps: two that rise by halves, seven in full, and 4/4, 3/4, 2/4, 1/4.
    assert fall(steps=13, warmup=2, cooldown=4) == pytest.approx((1.5 + 7 + 2.5) * 1e-3, abs=1e-6)
    assert fall(steps=13) == pytest.approx(13e-3, abs=1e-6)


def test_a_factor_on_the_rate_is_another_rate():
    def losses(rate):
        run = {"seeds": [3, 5], "steps": 7, "learning_rate": rate, "warmup": 3}
        return train(Tiny, batch, cross_entropy, **run).losses

    with pytest.raises(KeyError), learning_rates_times(7):
        raise KeyError  # what fails inside leaves no factor behind
    with learning_rates_times(3):
        inside = losses(0.01)
        with learning_rates_times(0.5):
            assert rate_factor() == 0.5
        assert rate_factor() == 3
    assert torch.equal(inside, losses(3 * 0.01))
    assert not torch.equal(inside, losses(0.01))


def test_a_bar_is_there_while_it_counts_and_gone_when_done(monkeypatch, capsys):
    monkeypatch.setenv("TQDM_DISABLE", "0")
    steps = iter(with_bar(range(7), "counting"))
    next(steps)
    assert "counting" in capsys.readouterr().err
    assert list(steps) == [1, 2, 3, 4, 5, 6]
    assert capsys.readouterr().err.split("\r")[-1].strip() == ""
