"""Measure which tokens a small GPT lets through which block, for the slider of lecture 07b.

    python tools/scripts/measure_depths.py             some minutes on two cores
    python tools/scripts/measure_depths.py --quick     to see that it runs, without writing anything

Each block of the packaged small GPT becomes a ``MixtureOfDepths``. Its routers and predictors begin
to learn while the blocks still take every token. From then on each capacity goes its own way, once
with its routers and once with tokens chosen at random, for equally many steps on the course's
prose; so does capacity 1, the yardstick. To be run again whenever train_small_gpt.py has made
another small GPT. The hash it prints is for course_utils/data/package_files.py.
"""

import argparse
import copy

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils.data.package_files import SHA256
from course_utils.language_modeling import text_batch, text_loss
from course_utils.layers.mod import MixtureOfDepths, RoutingDecision, predictor_loss
from course_utils.models.gpt2 import GPT2
from course_utils.models.small_gpt import load_small_gpt, small_gpt_tokenizer
from lectures.l07b_sharing.experiments.adapting import LENGTH, course_tokens
from lectures.l07b_sharing.experiments.depth_runs import (
    CAPACITIES,
    DEPTH_RUNS_FILE,
)
from tools.scripts.packaged import as_json, write_packaged

FIRST, STEPS, SEEDS = 60, 150, (0, 1, 2)
BATCH, LEARNING_RATE, TEXT_LENGTH, TEXTS = 8, 1e-3, 40, 5
Randoms = torch.Generator | None


def main() -> None:
    """Measure, write the file, and say what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    first, steps, seeds = (1, 1, (0,)) if quick else (FIRST, STEPS, SEEDS)
    small, unseen, runs, seen = load_small_gpt(), course_tokens().prose_unseen, [], {}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        start = routed(small, seed)
        learn(start, first, generator)
        state = generator.get_state()
        for capacity in CAPACITIES:
            for way in ("router", "random") if capacity < 1 else ("router",):
                model = with_capacity(start, capacity)
                generator.set_state(state)  # the same windows for all
                chance = torch.Generator().manual_seed(seed) if way == "random" else None
                learn(model, steps, generator, chance)
                runs.append(measured(model, unseen, chance) | {"way": way, "capacity": capacity})
                print(seed, runs[-1], flush=True)
                if way == "router" and seed == seeds[0]:
                    seen[capacity] = model
    found = {
        "measured_on": SHA256["small_gpt/model.safetensors"],
        "steps": first + steps,
        "seeds": seeds,
        "before": round(text_loss(small, unseen, length=LENGTH), 4),
        "runs": runs,
        "texts": [passages(seen, text) for text in texts()],
    }
    if not quick:
        write_packaged(DEPTH_RUNS_FILE, as_json(found))


def routed(model: GPT2, seed: int) -> GPT2:
    """Return a copy with a router before each block, which still lets every token through."""
    torch.manual_seed(seed)
    model = copy.deepcopy(model)
    for index, block in enumerate(model.blocks):
        model.blocks[index] = MixtureOfDepths(block, 1, model.config.width)
    return model


def with_capacity(model: GPT2, capacity: float) -> GPT2:
    """Return a copy whose blocks take this share of the tokens."""
    model = copy.deepcopy(model)
    for block in model.modules():
        if isinstance(block, MixtureOfDepths):
            block.capacity = capacity
    return model


def read(
    model: GPT2, ids: Tensor, *, routing: str = "top_k", chance: Randoms = None
) -> tuple[Tensor, list[RoutingDecision]]:
    """Return the next tokens' logits (B, T, V), and what each block's router decided."""
    h, kept = model.tokens(ids) + model.positions.weight[: ids.shape[1]], []
    for block in model.blocks:
        weights = None if chance is None else torch.rand(ids.shape, generator=chance)
        h, decided = block(h, routing=routing, weights=weights)
        kept.append(decided)
    return model.logits(h), kept


def learn(model: GPT2, steps: int, generator: torch.Generator, chance: Randoms = None) -> None:
    """Train the model on the course's prose, and its predictors on what its routers decide."""
    draw = text_batch(course_tokens().prose, LENGTH, BATCH)
    update = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for _ in range(steps):
        inputs, targets = draw(generator)
        logits, kept = read(model, inputs, chance=chance)
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
        update.zero_grad()
        (loss + sum(predictor_loss(each) for each in kept)).backward()
        update.step()


@torch.no_grad()
def measured(model: GPT2, unseen: Tensor, chance: Randoms) -> dict[str, object]:
    """Return the loss on unseen prose, by the router or chance, and by trained predictors."""
    inputs, targets = unseen[:-1].view(-1, LENGTH), unseen[1:].view(-1, LENGTH)
    found = {}
    for routing in ("top_k",) if chance else ("top_k", "predicted"):
        logits, kept = read(model, inputs, routing=routing, chance=chance)
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
        share = torch.stack([each.mask for each in kept]).float().mean().item()
        found[routing] = {"loss": round(loss, 4), "share": round(share, 4)}
    return found


def texts() -> list[Tensor]:
    """Return the beginnings of some unseen paragraphs, as ids."""
    tokenizer = small_gpt_tokenizer()
    _, *lines = tokenizer.decode(course_tokens().prose_unseen.tolist()).splitlines()
    ids = (tokenizer.encode(line)[:TEXT_LENGTH] for line in lines)
    long = [torch.tensor(each) for each in ids if len(each) == TEXT_LENGTH]
    return long[:TEXTS]


@torch.no_grad()
def passages(models: dict[float, GPT2], ids: Tensor) -> dict[str, object]:
    """Return a text's tokens, and who passes each block at each capacity, as digits 0 and 1."""
    tokenizer, masks = small_gpt_tokenizer(), {}
    for routing in ("top_k", "predicted"):
        masks[routing] = {}
        for capacity, model in models.items():
            _, kept = read(model, ids[None], routing=routing)
            masks[routing][str(capacity)] = [digits(each.mask[0]) for each in kept]
    return {"tokens": [tokenizer.decode([token]) for token in ids.tolist()], **masks}


def digits(mask: Tensor) -> str:
    """Return a row of flags as text.

    >>> digits(torch.tensor([True, False]))
    '10'
    """
    return "".join(str(int(each)) for each in mask)


if __name__ == "__main__":
    main()
