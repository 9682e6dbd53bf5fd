"""What the symbol table must refuse, as a table: as in support_bad_core.py."""

from course_utils.lectures.l06_gpt2_block.experiments import symbols
from tests.core.support_bad_core import COUNT, WORDS
from tests.core.support_bad_input import Bad, Case, Said
from tests.core.support_gpt2 import L, P, ours, some_ids

IDS = some_ids(2, 3)
CASES = [
    Case("symbols.symbol_table", symbols.symbol_table, {"model": ours(), "token_ids": IDS}, {
        "model": Bad((None, 3, "gpt2"), (Said(ours(attention="flash"), "'flash'"),)),
        "token_ids": Bad(
            (*WORDS, IDS.int(), IDS.float()),
            (IDS[0], IDS[None], IDS[:0], IDS[:, :0], Said(some_ids(1, P + 1), str(P + 1)),
             IDS + 31, IDS - 31),
        ),
        "blocks": Bad(COUNT.types, (*COUNT.values, L + 1)),
    }),
]  # fmt: skip
