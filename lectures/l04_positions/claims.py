"""What lecture 04 claims of its trained readers; `make claims LECTURE=04` runs its cells again."""

import math

from course_utils.teaching.claims import LONGER, RATES, Claim, Setting

FAR = "setup", "far-loop", "far-first", "far-train", "far-tests", "far-control"
PAIRS = "setup", "ex-1-stub", "repairs", "far-loop", "far-first", "pairs"
MISSED = "setup", "ex-1-stub", "repairs", "far-loop", "far-first", "pair-missed"
NEAR, AWAY = "the answer stays near", "the answer moves away"
WIDER = Setting("width 128", arguments={"WIDTH": 128})
SHORT = {"STEPS": 5, "LENGTHS": [16, 24, 32]}
RIGHT, LOST = "of 1: share right", "of 1: accuracy lost"
GAINED = "of 1: share right, gained"
# Without what the claims are about: a length beyond that of training, and an answer that moves.
NO_LONGER = Setting("tested at 32 notes only", arguments={"LENGTHS": [32, 32, 32, 32]})
NO_FARTHER = Setting("tested at 32 notes only", arguments={"FAR": 32})
BRIEF = {"STEPS": 5, "FAR": 32}
STAYS = Setting(
    "in the second test, too, the answer stays near",
    edits={f'"{AWAY}": {{}}': f'"{AWAY}": {{"num_keys": 8}}'},
)
RIVALS = Setting("many rivals", edits={", fresh_every=32": ""})


def lost(cell, test, scheme, to=-1):
    """What a reader loses of its accuracy from 32 notes to 256, or to 64: `to=1`."""
    shares = cell.results[test][scheme]
    return shares[0] - shares[to]


def least_worst(cell, to):
    """What the best of the seven loses in the test in which it loses more."""
    schemes = cell.results[NEAR]
    return min(max(lost(cell, test, name, to) for test in (NEAR, AWAY)) for name in schemes)


def read_ntk(cell):
    """What NTK gains over plain RoPE at 256 notes, and is short of the best: the less of both."""
    near, away = (
        {name: shares[-1] for name, shares in cell.results[test].items()} for test in (NEAR, AWAY)
    )
    return {
        "gain over plain RoPE": min(near["NTK"] - near["RoPE"], away["NTK"] - away["RoPE"]),
        "short of the best": min(near["ALiBi"] - near["NTK"], away["interpolated"] - away["NTK"]),
        "RoPE": near["RoPE"],
    }


def half_a_turn(count):
    """Which of so many pairs made a number of turns in training that is closest to a half."""
    turns = [31 * 10_000 ** (-i / count) / math.tau for i in range(count)]
    return min(range(count), key=lambda i: abs(turns[i] - 0.5))


def read_pairs(cell):
    """What slowing pairs gains at 256 notes, where the answer moves away."""
    count = len(cell.pairs)
    half = half_a_turn(count)
    others = [i for i in range(count) if i != half]
    plain = cell.right_at([])
    return {
        "the pair with half a turn": cell.right_at([half]) - plain,
        "the best other pair": max(cell.right_at([i]) for i in others) - plain,
        "all other pairs": cell.right_at(others) - plain,
        "share right with none": plain,
    }


def read_missed(cell):
    """What a reader loses at 32 notes with one pair left unrotated."""
    full = cell.right_without([])
    lost = {pair: full - right for pair, right in cell.missed.items()}
    half = half_a_turn(len(lost))
    return {
        "the pair with half a turn": lost.pop(half),
        "the worst other pair": max(lost.values()),
        "share right with all rotated": full,
    }


CLAIMS = (
    Claim(
        name="no_scheme_holds_in_both",
        sentence="Of seven readers trained for 350 steps to recall the last value of a letter "
        "from 32 notes (no positions, learned, sinusoidal, RoPE, RoPE interpolated and with NTK "
        "scaling, ALiBi), each loses more than 0.1 of its accuracy at 256 notes, where the "
        "answer stays near or where it moves away; at 64 notes, at least one loses less than 0.1 "
        "in both.",
        cells=FAR,
        read=lambda cell: {
            "at 256 notes": least_worst(cell, -1),
            "at 64 notes": least_worst(cell, 1),
        },
        holds=lambda n: n["at 64 notes"] < 0.1 < n["at 256 notes"],
        effect="at 256 notes",
        unit="of 1: accuracy lost by the best, in the worse of two tests",
        rival="at 64 notes",
        control=NO_LONGER,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="fixed_positions_fall_at_once",
        sentence="Readers with learned and with sinusoidal positions, trained for 350 steps to "
        "recall the last value of a letter from 32 notes, both lose more than 0.2 of their "
        "accuracy at 64 notes when the answer stays near.",
        cells=FAR,
        read=lambda cell: {
            "the better of the two": min(
                lost(cell, NEAR, name, 1) for name in ("learned", "sinusoidal")
            ),
            "RoPE": lost(cell, NEAR, "RoPE", 1),
        },
        holds=lambda n: n["the better of the two"] > 0.2,
        effect="the better of the two",
        unit=LOST,
        rival="RoPE",
        control=NO_LONGER,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="rope_falls",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a "
        "letter from 32 notes, loses more than 0.2 of its accuracy at 256 notes of the same 8 "
        "letters.",
        cells=FAR,
        read=lambda cell: {name: lost(cell, NEAR, name) for name in ("RoPE", "ALiBi")},
        holds=lambda n: n["RoPE"] > 0.2,
        effect="RoPE",
        unit=LOST,
        rival="ALiBi",
        control=NO_LONGER,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="few_rivals_rope_loses_little",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a "
        "letter from 32 notes, loses less than 0.15 of its accuracy at 256 notes when every 32 "
        "notes have 8 letters of their own, so that neither the distance of the answer nor the "
        "notes of a letter become more; interpolated for 256, it loses more than 0.15.",
        cells=FAR,
        read=lambda cell: {
            name: cell.results[NEAR]["RoPE"][0] - cell.few[name][0]
            for name in ("RoPE", "interpolated")
        },
        holds=lambda n: n["RoPE"] < 0.15 < n["interpolated"],
        effect="RoPE",
        unit=LOST,
        rival="interpolated",
        control=RIVALS,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="rope_ends_where_none_does",
        sentence="Of readers trained for 350 steps to recall the last value of a letter from 32 "
        "notes, one with plain RoPE and one without positions are right equally often, within "
        "0.1, at 256 notes of 64 letters, where the answer is further away.",
        cells=FAR,
        read=lambda cell: {
            "RoPE": cell.results[AWAY]["RoPE"][-1],
            "no positions": cell.results[AWAY]["none"][-1],
            "RoPE at 32 notes": cell.results[AWAY]["RoPE"][0],
        },
        holds=lambda n: abs(n["RoPE"] - n["no positions"]) < 0.1,
        at_stake=lambda n: n["RoPE at 32 notes"] > 0.55,  # else RoPE has learned nothing to lose
        effect="RoPE",
        unit=RIGHT,
        rival="no positions",
        control=STAYS,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="alibi_holds_near",
        sentence="A reader with ALiBi, trained for 350 steps to recall the last value of a "
        "letter from 32 notes, loses less than 0.05 of its accuracy at 256 notes when the answer "
        "stays near, and more than 0.3 when it moves away.",
        cells=FAR,
        read=lambda cell: {
            "the answer near": lost(cell, NEAR, "ALiBi"),
            "moving away": lost(cell, AWAY, "ALiBi"),
        },
        holds=lambda n: n["the answer near"] < 0.05 and n["moving away"] > 0.3,
        effect="the answer near",
        unit=LOST,
        rival="moving away",
        control=STAYS,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="interpolated_rope_holds_away",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a "
        "letter from 32 notes and interpolated for 256, loses less than 0.15 of its accuracy at "
        "256 notes when the answer moves away, and more than 0.15 when it stays near.",
        cells=FAR,
        read=lambda cell: {
            "moving away": lost(cell, AWAY, "interpolated"),
            "the answer near": lost(cell, NEAR, "interpolated"),
            "plain RoPE, moving away": lost(cell, AWAY, "RoPE"),
        },
        holds=lambda n: n["moving away"] < 0.15 < n["the answer near"],
        effect="moving away",
        unit=LOST,
        rival="plain RoPE, moving away",
        control=STAYS,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="ntk_helps_and_is_not_best",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a "
        "letter from 32 notes, is right more often at 256 notes with NTK scaling than without, "
        "whether the answer stays near or moves away; but less often than ALiBi when it stays "
        "near, and than interpolated RoPE when it moves away.",
        cells=FAR,
        read=read_ntk,
        holds=lambda n: n["gain over plain RoPE"] > 0 and n["short of the best"] > 0,
        effect="gain over plain RoPE",
        unit="of 1: share right, the smaller of two tests",
        control=NO_LONGER,
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="half_a_turn_breaks_first",
        sentence="A reader with RoPE is trained for 350 steps to recall the last value of a letter "
        "from 32 notes, and reads 256 notes of 64 letters, where the answer is further away. Of "
        "its pairs, one made a number of turns in training that is closest to a half. With the "
        "positions divided by 8 in that pair alone, the reader gains more than 0.15; in any other "
        "pair alone, it gains less than that by more than 0.05.",
        cells=PAIRS,
        read=read_pairs,
        holds=lambda n: n["the pair with half a turn"] > max(0.15, n["the best other pair"] + 0.05),
        effect="the pair with half a turn",
        unit=GAINED,
        rival="the best other pair",
        control=NO_FARTHER,
        quick=BRIEF,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="the_other_pairs_gain_little",
        sentence="A reader with RoPE is trained for 350 steps to recall the last value of a letter "
        "from 32 notes, and reads 256 notes of 64 letters. Dividing the positions by 8 in all "
        "pairs but the one that made closest to half a turn in training gains less than half of "
        "what dividing them in that pair alone gains.",
        cells=PAIRS,
        read=read_pairs,
        holds=lambda n: n["all other pairs"] < n["the pair with half a turn"] / 2,
        effect="all other pairs",
        unit=GAINED,
        rival="the pair with half a turn",
        control=NO_FARTHER,
        quick=BRIEF,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="half_a_turn_tells_the_order",
        sentence="A reader with RoPE is trained for 350 steps to recall the last value of a letter "
        "from 32 notes, and reads 32 notes with one of its pairs left unrotated. Without the pair "
        "that made closest to half a turn in training, it loses more than 0.1 of its accuracy; "
        "without any other pair, it loses less than 0.05.",
        cells=MISSED,
        read=read_missed,
        holds=lambda n: n["the worst other pair"] < 0.05 and n["the pair with half a turn"] > 0.1,
        effect="the pair with half a turn",
        unit=LOST,
        rival="the worst other pair",
        control=Setting(
            "the pair stays rotated", edits={"chosen[unrotated] = True": "chosen[[]] = True"}
        ),
        quick={"STEPS": 5},
        settings=(*RATES, WIDER),
    ),
)
