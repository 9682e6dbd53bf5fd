"""The quiz of lecture 04."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "how does rotation make order relative?",
    (
        Question(
            "An attention layer without positions and without a mask reads a sentence whose words "
            "have been shuffled. What comes out?",
            (
                Option(
                    "The same rows as before, in the same order",
                    "That would be invariance. Each row belongs to its word and moves with it; "
                    "only what is pooled over all rows, such as their mean, stays the same.",
                ),
                Option(
                    "The same rows, shuffled like the words",
                    "Each word finds the same keys, in whatever order they stand. Shuffled input, "
                    "equally shuffled output: the layer is equivariant.",
                    correct=True,
                ),
                Option(
                    "Other rows, since every word has new neighbours",
                    "Neighbours count only where positions or a mask say who is near. Without "
                    "either, the set of keys is all that a query sees, and it has not changed.",
                ),
                Option(
                    "The mean of all rows, repeated",
                    "That happens if all scores are equal. The scores depend on the words, and "
                    "those are still different.",
                ),
            ),
        ),
        Question(
            "With RoPE, a query at position 3 and a key at position 10 have a score. Both move on "
            "by 1 000. What happens to the score?",
            (
                Option(
                    "It falls, since high positions turn further",
                    "Both turn further, and by the same angles. What the score sees is the angle "
                    "between them.",
                ),
                Option(
                    "It stays if q and k have length 1, and changes otherwise",
                    "A rotation keeps every length, so lengths enter the score at both places "
                    "alike. What normalising adds is that the score is then a cosine.",
                ),
                Option(
                    "It repeats with period 2π, so it is nearly the same",
                    "Each pair has a period of its own, and 1 000 is a multiple of none. The score "
                    "stays because both turn, not because a turn has been completed.",
                ),
                Option(
                    "It stays, up to rounding",
                    "Pair i of both turns by 1000·θ_i more, and the score depends on the "
                    "difference of the angles alone: on 10 − 3 = 7.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "A checkpoint was trained with the interleaved pairing. By mistake it runs in code "
            "that has the half pairing, for q and for k. What do you see?",
            (
                Option(
                    "No error, and scores that are relative but not those of the training",
                    "Each pairing by itself gives scores that depend on m − n alone. But "
                    "coordinates now turn with frequencies that they were not trained with: for "
                    "random q and k of width 64, 7 apart, old and new scores have a correlation "
                    "of 0.60.",
                    correct=True,
                ),
                Option(
                    "An error, since the shapes do not fit",
                    "Both pairings take D numbers and give D numbers. No shape tells them apart.",
                ),
                Option(
                    "No error, and scores that depend on m and n separately",
                    "That is what mixing does, q in one pairing and k in the other. Here both have "
                    "the same one.",
                ),
                Option(
                    "No difference, since W_q and W_k are learned anyway",
                    "A model trained from the start would learn either. This one is trained: its "
                    "rows are in the order of the other pairing and must be permuted first.",
                ),
            ),
        ),
        Question(
            "The base of RoPE is raised from 10 000 to 500 000, at D = 128. What does pair 0 do?",
            (
                Option(
                    "It turns 50 times more slowly",
                    "The slowest pair does nearly that, 47 times. How much a pair slows down "
                    "depends on its number, as the base is raised to −2i/D.",
                ),
                Option(
                    "It turns 50 times faster",
                    "A larger base makes the frequencies base^(−2i/D) smaller or leaves them. None "
                    "of them rises.",
                ),
                Option(
                    "It turns as before, by 1 radian a position",
                    "base^0 = 1 for every base. The change grows with the number of the pair: the "
                    "slowest needs 2.6 million positions for a turn instead of 54 410.",
                    correct=True,
                ),
                Option(
                    "It stops, so that near positions look alike",
                    "Pair 0 is the one that tells neighbours apart, and it keeps its frequency. It "
                    "is the slow pairs that come nearly to a stop.",
                ),
            ),
        ),
        Question(
            "A model with RoPE was trained on texts of 32 tokens. On 256 tokens its scores still "
            "depend on m − n alone. Why may it fail there all the same?",
            (
                Option(
                    "Rotations by large angles lose precision",
                    "At 256 positions float32 angles are good to about 1e-5. Precision becomes a "
                    "matter at very long texts, and computing the angles in float64 settles it.",
                ),
                Option(
                    "Distances of 32 and more have angles that no training step has seen",
                    "That a score is relative says nothing about which distances were trained. The "
                    "slow pairs reach angles at distance 200 that they never had at 31.",
                    correct=True,
                ),
                Option(
                    "The table of positions ends at row 32",
                    "That is the trouble of learned positions. A rotation can be computed for any "
                    "position.",
                ),
                Option(
                    "The keys grow longer with the position",
                    "Rotations keep lengths, at position 255 as at position 0. What changes is the "
                    "angle between q and k.",
                ),
            ),
        ),
    ),
)
