"""Train the small GPT that the package carries: the training of lecture 06, longer.

    python -m tools.scripts.train_small_gpt                a few minutes on two cores
    python -m tools.scripts.train_small_gpt --steps 100    to see that it runs; writes nothing

Beyond the lecture's training the learning rate rises first and falls at the end, weights decay, and
of the models along the way the one is kept that says the held-out text best: the text is short, and
a model that reads it many times begins to know it by heart. The loss on the held-out text is
therefore a little too good, as it was chosen by.

The hashes it prints are for course_utils/data/package_files.py. Other versions of torch, or another
number of threads, round otherwise, and give another model of the same quality.
"""

import argparse
import copy
import math
import time

import torch

from course_utils.data.course_text import course_prose
from course_utils.data.package_files import DATA
from course_utils.files import write_whole
from course_utils.language_modeling import (
    next_token_loss,
    split_text,
    text_batch,
    text_loss,
    unigram_entropy,
)
from course_utils.models import GPT2, generate, load_gpt2, save_gpt2
from course_utils.models.small_gpt import FOLDER, SMALL_GPT
from course_utils.tokens import BytePairs, train_bpe
from tools.scripts.packaged import as_json, print_line

SEED, SHARE = 0, 0.9
STEPS, EVERY, BATCH = 1200, 100, 16
LENGTH = SMALL_GPT.max_positions
LEARNING_RATE, WARMUP, WEIGHT_DECAY = 2e-3, 60, 0.3


def main() -> None:
    """Train, write the files, and say what the model can do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args().steps
    learn, held_out = split_text(course_prose(), SHARE)
    pairs = train_bpe(learn, SMALL_GPT.vocab_size)
    ids, unseen = torch.tensor(pairs.encode(learn)), torch.tensor(pairs.encode(held_out))
    V = SMALL_GPT.vocab_size
    print(f"{len(ids)} tokens to learn from, {len(unseen)} held out; ln V = {math.log(V):.3f}")
    print(
        f"unigram entropy: {unigram_entropy(ids, V):.3f}, held out {unigram_entropy(unseen, V):.3f}"
    )
    model = trained(ids, unseen, steps)
    if steps == STEPS:
        write(model, pairs)
        model = load_gpt2(DATA / FOLDER)
    for name, text in (("learned from", ids), ("held out", unseen)):
        print(f"loss on the text {name}: {text_loss(model, text, length=LENGTH):.3f}")
    samples = write_samples(model, pairs)
    print(f"longest run copied from the text: {longest_copy(samples, learn)} characters")


def trained(ids: torch.Tensor, unseen: torch.Tensor, steps: int) -> GPT2:
    """Return the model that says the held-out text best."""
    torch.manual_seed(SEED)
    model, generator = GPT2(SMALL_GPT), torch.Generator().manual_seed(SEED)
    draw = text_batch(ids, LENGTH, BATCH)
    update = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(update, lambda step: rate(step + 1, steps))
    best, best_loss, start = model, math.inf, time.perf_counter()
    for step in range(1, steps + 1):
        loss = next_token_loss(model, *draw(generator))
        update.zero_grad()
        loss.backward()
        update.step()
        schedule.step()
        if step % EVERY == 0 or step == steps:
            now = text_loss(model, unseen, length=LENGTH)
            took = time.perf_counter() - start
            print(
                f"step {step:5}  batch {loss.item():.3f}  held out {now:.3f}  {took:.0f} s",
                flush=True,
            )
            if now < best_loss:
                best, best_loss = copy.deepcopy(model), now
    return best


def rate(step: int, steps: int) -> float:
    """Return the share of the learning rate: up in a line, then down in half a cosine."""
    if step <= WARMUP:
        return step / WARMUP
    return 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / max(steps - WARMUP, 1)))


def write(model: GPT2, pairs: BytePairs) -> None:
    """Write the packaged files, 16 bits to a number, and print their hashes."""
    save_gpt2(copy.deepcopy(model).half(), DATA / FOLDER)
    write_whole(DATA / FOLDER / "merges.json", as_json(pairs.merges))
    for path in sorted((DATA / FOLDER).iterdir()):
        print_line(f"{FOLDER}/{path.name}")


def write_samples(model: GPT2, pairs: BytePairs) -> list[str]:
    """Return texts that the model begins and goes on with, and print the first of them."""
    prompt = torch.tensor([pairs.encode("\n\n")] * 20)
    generator = torch.Generator().manual_seed(SEED)
    room = LENGTH - prompt.shape[1]
    written = generate(model, prompt, room, temperature=0.8, generator=generator)
    samples = [pairs.decode(row) for row in written]
    for sample in samples[:3]:
        print(f"---\n{sample.strip()}")
    return samples


def longest_copy(samples: list[str], text: str) -> int:
    """Return the length of the longest run of characters that a sample shares with the text."""
    longest = 0
    for sample in samples:
        for first in range(len(sample)):
            while sample[first : first + longest + 1] in text and first + longest < len(sample):
                longest += 1
    return longest


if __name__ == "__main__":
    main()
