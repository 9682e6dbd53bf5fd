"""What lecture 05 claims of random and trained networks; `make claims LECTURE=05` re-runs it."""

from functools import partial
from math import log

import torch
from torch.nn.functional import cross_entropy

from course_utils.attention import attend
from course_utils.layers import EncoderBlock
from course_utils.lectures.l05_causal_mask.experiments import (
    T,
    V,
    next_token_loss,
    random_text,
    train_on_random,
)
from course_utils.masks import causal_mask, sliding_window_mask
from course_utils.measure.dependence import gradient_reach
from course_utils.models.causal_lm import CausalLM, CausalLMConfig
from course_utils.models.minilm_or_random import random_encoder, reading_encoder
from course_utils.teaching.claims import RATES, Claim, Setting
from course_utils.training import TEST_SEED

__all__ = ["CLAIMS"]

C = 16  # width of the small networks
COMMON = 3  # tokens that two texts begin with
WIDER = Setting("twice the width", arguments={"width": 2 * C})
DEEPER = Setting("twice the depth", arguments={"layers": 4})
WIDER_MODEL = Setting("twice the width", arguments={"width": 64})


def run_leak(seeds, steps, width=32):
    """The off-by-one model's loss in training, and when it is used."""
    leaky = train_on_random(
        torch.ones(T, T, dtype=torch.bool).tril(1), seeds, steps=steps, width=width
    )
    text = random_text(torch.Generator().manual_seed(TEST_SEED))
    with torch.no_grad():
        in_use = [next_token_loss(causal_mask(T))(model, *text) for model in leaky.models]
    in_training = leaky.losses[:, -10:].mean(dim=1)
    return [{"in training": a, "in use": b} for a, b in zip(in_training, in_use, strict=True)]


def run_honest(seeds, steps, width=32):
    """How far above the entropy the causal model's loss is: the mean of 100 batches."""
    losses = train_on_random(causal_mask(T), seeds, steps=steps, width=width).losses - log(V)
    return [{"above ln 11": row[-100:].mean()} for row in losses]


def small_network(seed, layers=2, width=C, tokens=14):
    """A fresh network, and an input for it: `model(x, mask)`."""
    torch.manual_seed(seed)
    blocks = [EncoderBlock(width, 2, 2 * width) for _ in range(layers)]

    def model(x, mask):
        x = x[None]  # a batch of one
        for block in blocks:
            x, _ = block(x, mask)
        return x[0]

    return model, torch.randn(tokens, width)


def run_window(seeds, most, width=C, tokens=14):
    """How far back a gradient reaches, in networks of random depth and window."""
    found = []
    for seed in seeds:
        layers, window = 1 + seed % most, 2 + seed // most % 3
        model, x = small_network(seed, layers, width, tokens)
        mask = sliding_window_mask(len(x), window)
        reach = gradient_reach(partial(model, mask=mask), x)
        t, s = reach.nonzero().T
        found.append(
            {
                "reach": (t - s).max() / (layers * (window - 1)),
                "L (w − 1)": layers * (window - 1),
                "future": reach.triu(1).max(),
            }
        )
    return found


def one_layer(x, weights, masked_late):
    """One layer of attention, with the mask before or after the softmax."""
    q, k, v = (x @ w for w in weights)
    mask = causal_mask(len(x))
    if masked_late:
        return attend(q, k, v)[1].where(mask, 0) @ v
    return attend(q, k, v, may_attend=mask)[0]


def run_late(seeds, tokens, width=C):
    """The share of future pairs that leak where the mask comes after the softmax, and before."""
    found = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(tokens, width, generator=generator)
        weights = torch.randn(3, width, width, generator=generator)
        numbers = {}
        for name, late in (("masked after", True), ("masked before", False)):
            reach = gradient_reach(partial(one_layer, weights=weights, masked_late=late), x)
            ahead = reach.triu(1)
            numbers[name] = (ahead != 0).sum() / (tokens * (tokens - 1) / 2)
            numbers[f"{name}, largest gradient"] = ahead.max()
        found.append(numbers)
    return found


def gradient(model, loss):
    """All gradients of a loss in one row."""
    parts = torch.autograd.grad(loss, [*model.parameters()], retain_graph=True)
    return torch.cat([part.flatten() for part in parts])


def run_one_pass(seeds, tokens, width=64, layers=2):
    """One pass against one for each prefix: outputs and gradients, and outputs without a mask."""
    config = CausalLMConfig(29, width=width, num_layers=layers, num_heads=4, max_positions=512)
    found = []
    for seed in seeds:
        torch.manual_seed(seed)
        model, text = CausalLM(config), torch.randint(29, (1, tokens + 1))
        x, y = text[:, :-1], text[0, 1:]
        at_once = model(x)[0]
        apart = torch.cat([model(x[:, : t + 1])[:, -1] for t in range(tokens)])
        unmasked = model(x, may_attend=torch.ones(tokens, tokens, dtype=torch.bool))[0]
        taught, summed = (gradient(model, cross_entropy(out, y)) for out in (at_once, apart))
        found.append(
            {
                "largest difference": (at_once - apart).abs().max().item(),
                "without the mask": (unmasked - apart).abs().max().item(),
                "gradients, relative": (taught - summed).norm() / summed.norm(),
            }
        )
    return found


@torch.no_grad()
def after_six_layers(encoder, ids, mask_of):
    """An encoder's vectors of a text."""
    x = encoder.embeddings(ids[None])
    for layer in encoder.layers:
        x, _ = layer(x, mask_of(len(ids)))
    return x[0]


def run_common_beginning(seeds, pairs, common=COMMON, trained=True):
    """Pairs of random texts that begin with the same tokens: how much the vectors there differ."""
    encoder = reading_encoder() if trained else random_encoder()
    first_id, last_id = (1000, 29000) if trained else (0, encoder.config.vocab_size)
    found = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        differences = {"causal": [], "every token": []}
        for _ in range(pairs):
            tails = torch.randint(4, 198, (2,), generator=generator).tolist()
            beginning, *endings = (
                torch.randint(first_id, last_id, (count,), generator=generator)
                for count in (common, *tails)
            )
            texts = [torch.cat([beginning, ending]) for ending in endings]
            for name, mask_of in (("causal", causal_mask), ("every token", lambda T: None)):
                first, second = (
                    after_six_layers(encoder, text, mask_of)[:common] for text in texts
                )
                differences[name].append((first - second).abs().max())
        found.append(
            {
                "causal, largest": max(differences["causal"]),
                "no mask, smallest": min(differences["every token"]),
            }
        )
    return found


CLAIMS = (
    Claim(
        name="late_masks_leak",
        sentence="In an attention layer of width 16 with random weights, masking after the softmax "
        "lets more than 90 % of the pairs of an output and a later token have a gradient other "
        "than 0, and masking before it none, among 12 tokens.",
        run=run_late,
        holds=lambda n: n["masked after"] > 0.9 and n["masked before"] == 0,
        effect="masked after",
        unit="of 1: share of pairs that leak",
        rival="masked before",
        budget=12,
        quick=5,
        settings=(Setting("twice the tokens", budget=2), WIDER),
    ),
    Claim(
        name="windows_reach",
        sentence="In fresh networks of L = 1 to 4 layers with windows of w = 2 to 4 tokens, the "
        "gradient reaches exactly L (w − 1) tokens back, and none forward.",
        run=run_window,
        holds=lambda n: n["reach"] == 1 and n["future"] == 0,
        effect="reach",
        unit="times L (w − 1)",
        budget=4,
        quick=2,
        settings=(WIDER, Setting("twice the depth", budget=2, arguments={"tokens": 28})),
    ),
    Claim(
        name="a_leak_trains_too_well",
        sentence="A model of random tokens of 11 kinds whose mask is off by one has a loss below "
        "0.2 nats after 150 steps of training, and above 4 nats when it is used, under the causal "
        "mask.",
        run=run_leak,
        holds=lambda n: n["in training"] < 0.2 and n["in use"] > 4,
        effect="in use",
        unit="nats",
        rival="in training",
        budget=150,
        quick=10,
        settings=(*RATES, WIDER_MODEL),
    ),
    Claim(
        name="the_honest_stay_above_the_entropy",
        sentence="A causal model of random tokens of 11 kinds has a mean loss above ln 11 nats, "
        "the entropy, in the last 100 of 1,500 steps of training.",
        run=run_honest,
        holds=lambda n: n["above ln 11"] > 0,
        effect="above ln 11",
        unit="nats",
        budget=1500,
        quick=60,
        settings=(*RATES, WIDER_MODEL),
    ),
    Claim(
        name="one_pass_is_many",
        sentence="In fresh causal models, the logits of 128 predictions from one pass differ by "
        "less than 1e-5 from those of 128 passes over the prefixes, and the gradient of their loss "
        "by less than 1e-5 of its length.",
        run=run_one_pass,
        holds=lambda n: max(n["largest difference"], n["gradients, relative"]) < 1e-5,
        effect="largest difference",
        unit="(of a logit)",
        rival="without the mask",
        budget=128,
        quick=8,
        settings=(Setting("twice the width", arguments={"width": 128}), DEEPER),
    ),
    Claim(
        name="equal_up_to_rounding",
        sentence="In random texts of up to 200 tokens that begin with the same three, MiniLM's "
        "vectors of those three differ by less than 1e-5 after six layers under the causal mask, "
        "and by more than 0.1 without it.",
        run=run_common_beginning,
        holds=lambda n: n["causal, largest"] < 1e-5 and n["no mask, smallest"] > 0.1,
        effect="causal, largest",
        unit="(of an entry)",
        rival="no mask, smallest",
        budget=4,
        quick=1,
        settings=(
            Setting("30 tokens in common", arguments={"common": 30}),
            Setting("random weights", arguments={"trained": False}),
        ),
    ),
)
