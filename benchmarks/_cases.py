"""What is measured: the shapes, in the order of their importance, and what each one costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import product

import torch
from torch import Tensor

# One product of (N, D) and (D, N) matrices takes 2·N²·D operations, and attention has two of them.
# Backward has five: the scores again, and the gradients of q, k, v and the weights.
WORK = {"forward": 4.0, "backward": 10.0, "both": 14.0}


@dataclass(frozen=True)
class Case:
    """One shape, and who computes it; the first of `rivals` is ours, whom the rest are held to.

    `split` says that heads lie side by side in memory, (B, N, H, D), as a layer hands them over.
    """

    N: int
    D: int
    causal: bool
    dtype: str
    B: int
    H: int
    G: int
    rivals: tuple[str, ...]
    split: bool = False

    @property
    def name(self) -> str:
        heads = f"H {self.H}" if self.G == self.H else f"H {self.H} G {self.G}"
        mask = "causal" if self.causal else "full"
        layout = " split" if self.split else ""
        return f"B {self.B} {heads} N {self.N} D {self.D} {mask} {self.dtype}{layout}"

    @property
    def shape(self) -> dict[str, object]:
        """What the results say of a case: all but the rivals, who have results of their own."""
        return {key: value for key, value in asdict(self).items() if key != "rivals"}

    def operations(self, what: str) -> float:
        """Floating-point operations of one call; half of them where a mask hides half."""
        whole = WORK[what] * self.B * self.H * self.N**2 * self.D
        return whole / 2 if self.causal else whole

    def exponentials(self, what: str) -> float:
        """How many weights one call must compute: each once, and backward once more."""
        whole = float(self.B * self.H * self.N**2) * (2 if what == "both" else 1)
        return whole / 2 if self.causal else whole

    def result_bytes(self, what: str) -> int:
        """What must be returned: the output, and with `both` the gradients of q, k and v."""
        row = self.B * self.N * self.D * getattr(torch, self.dtype).itemsize
        return row * (self.H if what == "forward" else 2 * self.H + 2 * self.G)

    def inputs(self, device: str, *, gradients: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return q, k and v, independent standard normal, the same for the same case."""
        generator = torch.Generator(device).manual_seed(self.N)

        def draw(heads: int) -> Tensor:
            x = torch.randn(self.B, heads, self.N, self.D, generator=generator, device=device)
            x = x.to(getattr(torch, self.dtype))
            x = x.transpose(1, 2).contiguous().transpose(1, 2) if self.split else x
            return x.requires_grad_(gradients)

        return draw(self.H), draw(self.G), draw(self.G)

    def slope(self, device: str) -> Tensor:
        """Return the gradient that is handed back: as random as the inputs, always the same."""
        generator = torch.Generator(device).manual_seed(1)
        shape = (self.B, self.H, self.N, self.D)
        x = torch.randn(shape, generator=generator, device=device)
        return x.to(getattr(torch, self.dtype))


def cpu_cases() -> list[Case]:
    """The CPU's cases, some five minutes in all."""
    usual = {"dtype": "float32", "B": 1, "H": 8, "G": 8}
    three = ("ours", "plain", "sdpa")

    def both(N: int, D: int = 64, rivals: tuple[str, ...] = three, **more: object) -> list[Case]:
        return [Case(N, D, causal, **usual | more, rivals=rivals) for causal in (False, True)]

    # Beyond 4096 the naive form would take more memory than many machines have.
    cases = [case for N in (1024, 2048, 4096) for case in both(N, rivals=(*three, "naive"))]
    cases += [case for N in (8192, 512, 256, 128) for case in both(N)] + both(1024, split=True)
    grouped = ("ours", "ours_mha", "sdpa")
    cases += both(1024, rivals=grouped, G=2) + both(4096, rivals=grouped, G=2)
    # A processor without instructions for float16 takes several times as long as for bfloat16.
    return cases + both(2048, dtype="bfloat16") + both(1024, 128)


def gpu_cases() -> list[Case]:
    """The GPU's cases, 64 query heads in all: what has a goal comes first."""
    usual = {"dtype": "bfloat16", "B": 2, "H": 32, "G": 32}
    rivals = ("ours", "flash", "cudnn")

    def four(N: int, *more: str) -> list[Case]:
        shapes = product((64, 128), (False, True))
        return [Case(N, D, causal, **usual, rivals=(*rivals, *more)) for D, causal in shapes]

    middle = four(8192)
    cases = [*middle, *four(4096, "naive"), *four(16384)]
    grouped = ("ours", "ours_mha", "flash", "cudnn")
    cases += [replace(case, G=8, rivals=grouped) for case in middle]
    cases += [*four(2048, "naive"), *four(1024, "naive"), *four(512, "naive")]
    return cases + [replace(case, dtype="float16") for case in middle]


def quick_cases(device: str) -> list[Case]:
    """A handful of tiny shapes, for tests, with every kind of rival."""
    torch_s = ("plain", "sdpa") if device == "cpu" else ("flash", "cudnn")
    usual = {"D": 64, "dtype": "float32" if device == "cpu" else "bfloat16", "B": 1, "H": 4}
    rivals = (*torch_s, "naive")
    small = [Case(N, causal=False, **usual, G=4, rivals=("ours", *rivals)) for N in (67, 131)]
    grouped = replace(small[0], G=2, rivals=("ours", "ours_mha", *rivals))
    return [*small, replace(small[1], causal=True), grouped]
