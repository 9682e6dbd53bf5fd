"""The quiz of lecture 05."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "how are all positions trained at once?",
    (
        Question(
            "2 new tokens are read with a cache, 5 keys in all. How many of the 2 × 5 places does "
            "the causal mask leave open?",
            (
                Option(
                    "3",
                    "That is 1 + 2: the mask aligned at the top left, as torch's is_causal has it. "
                    "The new tokens would read the oldest keys and nothing of themselves.",
                ),
                Option(
                    "7",
                    "That is 3 + 4: what lies before each of them. A token may read itself too.",
                ),
                Option(
                    "9",
                    "The queries stand at places 3 and 4, so they read 4 and 5 keys. Only the "
                    "first one is kept from the last key.",
                    correct=True,
                ),
                Option(
                    "10",
                    "The last token may read everything. The one before it must not read the last: "
                    "it would see what it is to predict.",
                ),
            ),
        ),
        Question(
            "Token 0 is padding, and the mask hides it from all 5 queries. Query 0 may read "
            "nothing at all, and the code is masked_fill(−inf), softmax, times v. Which rows are "
            "NaN after two such layers?",
            (
                Option(
                    "None: exp(−∞) is 0",
                    "For one hidden score, yes. In a row of nothing else the sum is 0 too, and "
                    "0/0 is NaN.",
                ),
                Option(
                    "Row 0 alone, since nobody reads it",
                    "So it is after the first layer. In the second its weight is 0 for all others, "
                    "and 0 · NaN is NaN.",
                ),
                Option(
                    "Row 0 and its neighbour",
                    "Nothing here goes from neighbour to neighbour. The product of weights and "
                    "values adds all values, those of weight 0 too.",
                ),
                Option(
                    "All 5",
                    "The first layer makes row 0 NaN. In the second, every query multiplies that "
                    "row by a weight of 0, and 0 · NaN is NaN. Zeros for such a row, as `attend` "
                    "and scaled_dot_product_attention give them, stop it at the source.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "A language model of one block, width 32, is trained on random tokens from an alphabet "
            "of 29: 8 at a time, and every batch is drawn anew. Its loss falls to 0.42, far below "
            "ln 29 = 3.37. What happened?",
            (
                Option(
                    "It lets each token see the next one, the target",
                    "No model can predict random tokens better than ln 29. This one copies: with a "
                    "mask of tril(1) all 8 positions but the last see their target, which leaves "
                    "ln(29)/8 = 0.42.",
                    correct=True,
                ),
                Option(
                    "It has memorised the training data",
                    "Every batch is drawn anew, so there is nothing to memorise. A loss below the "
                    "entropy of what is to be predicted needs another source.",
                ),
                Option(
                    "It is large enough to learn the random generator",
                    "It is one block of width 32, and a generator's state is not in 8 of its "
                    "outputs. The cheaper explanation is that it sees the answer.",
                ),
                Option(
                    "Teacher forcing makes training easier than writing",
                    "Teacher forcing gives the true past, at every position. That helps with a "
                    "text; of random tokens even the true past tells nothing about the next.",
                ),
            ),
        ),
        Question(
            "Each layer has a sliding window of 3 tokens, itself included. How far back can output "
            "t of 4 layers depend on the input?",
            (
                Option(
                    "3 tokens",
                    "One layer reaches 2 tokens back. The next one reads rows that have looked "
                    "back already.",
                ),
                Option(
                    "8 tokens",
                    "Each layer adds 2 tokens, and 4·(3 − 1) = 8. The gradient with respect to "
                    "input t − 8 is not 0, and that with respect to t − 9 is exactly 0.",
                    correct=True,
                ),
                Option(
                    "12 tokens",
                    "That counts the token itself in every layer. A window of 3 reaches 2 tokens "
                    "back, so 4 of them reach 8.",
                ),
                Option(
                    "To the start of the text",
                    "Only with as many layers as that takes. In 4 layers nothing from beyond 8 "
                    "tokens back can reach output t, by any path.",
                ),
            ),
        ),
        Question(
            "A model has 32 layers, 32 query heads, 8 key/value heads of width 128 and 16-bit "
            "numbers. How large is the cache of one text of 8 192 tokens?",
            (
                Option(
                    "34 MB",
                    "That is one layer. Each of the 32 layers has keys and values of its own.",
                ),
                Option(
                    "0.54 GB",
                    "That is the keys, or the values. Both are kept: twice as much.",
                ),
                Option(
                    "1.07 GB",
                    "2·32·8·128 numbers a token, 2 bytes each: 131 072 bytes, times 8 192 tokens. "
                    "This is Llama 3 8B at its full length.",
                    correct=True,
                ),
                Option(
                    "4.29 GB",
                    "That keeps keys for 32 heads. Queries are not kept, and 4 query heads share "
                    "one key/value head: 8 count, not 32.",
                ),
            ),
        ),
    ),
)
