"""The telephone book as many trained layers know it: it comes with the package.

tools/scripts/train_phone_books.py trains them with the lecture's own cells, each from one seed.
"""

from functools import lru_cache
from itertools import product

import safetensors.torch
from torch import Tensor

from course_utils.data.package_files import read_packaged

PHONE_BOOKS_FILE = "phone_books.safetensors"
UNITS, EXPERTS, VISITS = (8, 16, 32, 64, 128), (1, 4, 8), (1, 2)
NAMES, WIDTH, BYTES = 64, 64, 4  # as in the lecture; bytes of a number


def phone_book(
    units: int,  # hidden, in all experts together
    experts: int,  # 1 for a dense layer
    visits: int,  # experts that a name visits
) -> Tensor:
    """Return who knows which number, (first, last): one byte for each name.

    Bit 0 says whether the number is known. Bits 1 to 3 are the name's first expert, bits 4 to 6 its
    second one, or the first again.
    """
    return _all_saved()[key_of(units, experts, visits)]


def key_of(units: int, experts: int, visits: int) -> str:
    """How the file names a layer."""
    return f"{units}/{experts}/{min(visits, experts)}"


def multiplications(units: int, experts: int, visits: int) -> int:
    """Products that a layer forms for one name, with those of the router."""
    router = experts * WIDTH if experts > 1 else 0
    return 2 * WIDTH * units // experts * min(visits, experts) + router


def parameters(units: int, experts: int, visits: int) -> tuple[int, int]:
    """How many numbers the layer stores, and how many of them one name needs."""
    one = 2 * WIDTH * (units // experts) + units // experts + WIDTH
    router = experts * WIDTH if experts > 1 else 0
    return experts * one + router, min(visits, experts) * one + router


def known_by_layer() -> list[dict[str, int]]:
    """Return what each layer of the file knows and costs, with its units, experts and visits."""
    rows = []
    for units, experts in product(UNITS, EXPERTS):
        for visits in VISITS[:experts]:
            cut = {"units": units, "experts": experts, "visits": visits}
            known = int((phone_book(**cut) % 2).sum())
            costs = {"parameters": parameters(**cut)[0], "multiplications": multiplications(**cut)}
            rows.append({**cut, "known": known, **costs})
    return rows


@lru_cache
def _all_saved() -> dict[str, Tensor]:
    return safetensors.torch.load(read_packaged(PHONE_BOOKS_FILE))
