"""The quiz of lecture 08."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "the geometry of memory",
    (
        Question(
            "On the same GPU, with the same inputs, tiled attention takes a fraction of the time "
            "of the whole-matrix form. What is there less of?",
            (
                Option(
                    "Floating-point operations, since no T×S matrix is computed",
                    "Every score is still computed, a tile at a time: the matrix products of the "
                    "forward pass are the same. Each tile adds a rescale, and the backward pass "
                    "computes the scores again. It computes more, not less.",
                ),
                Option(
                    "Bytes between the GPU's main memory and the chip",
                    "The T×S matrix is written and read by no pass. By the lecture's formulas, "
                    "at N = 4096, D = 64, 16 bits and blocks of 128 queries, a head moves 35 MB "
                    "instead of 136, and the arithmetic waits less for them.",
                    correct=True,
                ),
                Option(
                    "Precision: the softmax is replaced by a running approximation of it",
                    "The running softmax is exact. After each tile, `acc/l` is attention over the "
                    "keys seen so far; results differ by rounding alone.",
                ),
                Option(
                    "Allocated memory, and a program that allocates less runs faster",
                    "It does allocate less, which lets longer sequences fit. An allocation as such "
                    "takes no time worth counting; writing the matrix and reading it back does.",
                ),
            ),
        ),
        Question(
            "Besides q, k and v, what does the forward pass keep for the backward pass?",
            (
                Option(
                    "The weights, tile by tile, in 16 bits",
                    "That would be T×S numbers again: 34 MB a head at N = 4096. The backward pass "
                    "computes each tile of weights anew instead.",
                ),
                Option(
                    "m, l and acc as they were after every tile",
                    "Only the final row matters: with the lse of all keys, every weight is "
                    "exp(score − lse), whichever tile it is in. No history is needed.",
                ),
                Option(
                    "The output, and one number for each query",
                    "The number is the log-sum-exp: from q, k and it, each tile of weights can be "
                    "computed again. The output gives rowsum(dO ∘ O), which the gradient of a "
                    "softmax subtracts.",
                    correct=True,
                ),
                Option(
                    "Nothing: the backward pass starts with a second forward pass",
                    "It would work, as checkpointing a layer does, and cost a pass. One float32 "
                    "for each query saves it: with lse no maximum and no sum is sought again.",
                ),
            ),
        ),
        Question(
            "A tile has 64 queries × 128 keys. You change it to 128 × 64, which has as many "
            "scores. There is no mask, and N is large. What happens to the traffic of k and v?",
            (
                Option(
                    "It halves",
                    "All keys pass once for each block of queries, and there are half as many "
                    "blocks. How many keys a tile holds cancels out: smaller tiles, more of them.",
                    correct=True,
                ),
                Option(
                    "It stays: the tile has as many scores as before",
                    "The area decides how much has to fit on the chip. What moves depends on the "
                    "number of blocks of queries, each of which reads all of k and v.",
                ),
                Option(
                    "It doubles, as each tile of keys is half as large and there are twice as many",
                    "Twice as many tiles of half the size are as many bytes in one pass over the "
                    "keys. The number of passes is what changes: it is halved.",
                ),
                Option(
                    "It falls to a quarter",
                    "The number of passes is N over 128 instead of N over 64: half. A quarter "
                    "takes 256 queries in a block.",
                ),
            ),
        ),
        Question(
            "Causal attention, 1024 queries and keys, tiles of 128 × 128: an 8 × 8 grid. How many "
            "tiles does a good loop compute, and in how many does it compare positions?",
            (
                Option(
                    "64 tiles, all with the comparison: a hidden score is −∞, so it does no harm",
                    "The result is right and 28 of 64 tiles are computed for nothing: every "
                    "score in them is hidden. A loop ends at the diagonal.",
                ),
                Option(
                    "32 tiles, half of the grid, none with a comparison",
                    "Half of the scores are visible, but the diagonal cuts 8 tiles through. They "
                    "are computed whole, and inside them positions have to be compared.",
                ),
                Option(
                    "36 tiles, all with the comparison",
                    "36 is right. In the 28 tiles below the diagonal every key is visible to every "
                    "query, so a comparison there changes nothing and takes time.",
                ),
                Option(
                    "36 tiles, 8 of them with the comparison",
                    "28 tiles below the diagonal are visible in full, 8 on it in part, and 28 "
                    "above it not at all. Hence the two loops of the kernel: unmasked, then "
                    "diagonal.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "The keys are split over four devices. Each computes (m, l, acc) over its own keys, "
            "and the results are merged in the order in which they arrive. What comes out?",
            (
                Option(
                    "An approximation, the better the fewer the parts",
                    "Nothing is dropped: exp(s − m_a)·exp(m_a − m) = exp(s − m), so a rescaled "
                    "part is what it would have been against the common maximum.",
                ),
                Option(
                    "Attention over all keys; another order changes the rounding alone",
                    "A merge is a maximum and two sums, after bringing both parts to the same "
                    "maximum. Maxima and sums do not care about order, or about who computed them.",
                    correct=True,
                ),
                Option(
                    "The right result if the part with the largest maximum comes first",
                    "Then no later part would rescale the others, but a merge does that wherever "
                    "it is needed: the part with the smaller maximum shrinks.",
                ),
                Option(
                    "Nothing useful, unless the devices agree on one maximum beforehand",
                    "That costs a round of messages and is not needed. A part carries its own "
                    "maximum with it, and the merge brings the two together.",
                ),
            ),
        ),
    ),
)
