"""What LoRA learned at each rank, measured once: tools/scripts/measure_lora.py makes the file."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from course_utils.data.package_files import read_measured
from course_utils.shapes import Float

LORA_RUNS_FILE = "lora_runs.json"


@dataclass(frozen=True)
class LoraRun:
    """The small GPT after learning the course's code, three seeds.

    Attributes:
        rank: of the changes; None for a fine-tune without LoRA.
        only_matrices: whether that trained nothing but the matrices that LoRA adapts.
        learned: how many numbers were trained.
        code: loss on unseen code, in nats per token.
        prose: loss on unseen prose, which is forgotten.
    """

    rank: int | None
    only_matrices: bool
    learned: int
    code: Float[Tensor, " runs"]
    prose: Float[Tensor, " runs"]


@dataclass(frozen=True)
class LoraRuns:
    """All ranks, and the spectrum of what a full fine-tune changed.

    Attributes:
        code_before: the small GPT's loss on unseen code before it learned any.
        prose_before: its loss on unseen prose.
        runs: by rank, from the lowest; then two without LoRA, of the matrices alone and in full.
        cut: by rank r, the loss on unseen code of the full fine-tune whose matrices' changes are
            cut to rank r. Its embeddings, norms and biases stay as trained.
        spectra: by name, the singular values of each matrix's change in the full fine-tune.
    """

    code_before: float
    prose_before: float
    runs: tuple[LoraRun, ...]
    cut: dict[int, float]
    spectra: dict[str, Float[Tensor, " values"]]


@lru_cache(maxsize=1)
def lora_runs() -> LoraRuns:
    """Return what was measured."""
    found = read_measured(LORA_RUNS_FILE)
    return LoraRuns(
        code_before=found["code_before"],
        prose_before=found["prose_before"],
        runs=tuple(_run(each) for each in found["runs"]),
        cut=dict(found["cut"]),
        spectra={name: torch.tensor(values) for name, values in found["spectra"].items()},
    )


def _run(found: dict) -> LoraRun:
    return LoraRun(
        rank=found["rank"],
        only_matrices=found["only_matrices"],
        learned=found["learned"],
        code=torch.tensor(found["code"]),
        prose=torch.tensor(found["prose"]),
    )
