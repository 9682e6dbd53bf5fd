"""The quiz of lecture 01."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "why divide by √d_k?",
    (
        Question(
            "The proof of Var(q·k) = d_k makes assumptions about the coordinates of q and k. "
            "Which of these is not one of them?",
            (
                Option(
                    "They are independent of each other",
                    "This one is needed, twice: to factor the variance of a product, and to add "
                    "the d_k variances.",
                ),
                Option(
                    "They have mean 0",
                    "This one is needed. With a mean μ, a product's variance is "
                    "(σ² + μ²)² − μ⁴: at σ = μ = 1 that is 3, not 1.",
                ),
                Option(
                    "They have variance 1",
                    "This one is needed. With variance σ² each, the score has variance d_k·σ⁴.",
                ),
                Option(
                    "They are normally distributed",
                    "Only means and variances enter the proof. Coordinates of ±1 or uniform ones "
                    "give d_k as well.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "q and k have 64 coordinates of mean 0 and variance 1, but q_i and k_i are correlated "
            "with ρ = 0.5. What is the mean of the scaled score q·k/√64?",
            (
                Option(
                    "0, since q and k both have mean 0",
                    "The mean of a product of two zero-mean numbers is their covariance, here 0.5, "
                    "and 64 of them are added.",
                ),
                Option(
                    "0.5, since the scale takes care of d_k",
                    "The scale is √d_k, chosen for the spread. A mean grows with d_k itself, "
                    "faster than that.",
                ),
                Option(
                    "4, since the mean is ρ·d_k and the scale divides it by √d_k",
                    "0.5·64/8 = 4. The scale tames the spread of independent coordinates; a mean "
                    "of ρ·√d_k stays, and grows with the width. Dividing by d_k, as μP does, "
                    "would keep it at ρ.",
                    correct=True,
                ),
                Option(
                    "32, since the mean is ρ·d_k",
                    "That is the mean before the scale. The scaled score is 8 times smaller.",
                ),
            ),
        ),
        Question(
            "In a pre-LN block, q = W_q·LN(x) and k = W_k·LN(x). What is q·k?",
            (
                Option(
                    "The product of both lengths and the cosine of the angle",
                    "LayerNorm fixes mean and variance of its output, before W_q. How long q is "
                    "depends on W_q and on the direction of LN(x).",
                    correct=True,
                ),
                Option(
                    "The cosine of the angle between q and k",
                    "Only if |q| = |k| = 1, which cosine attention and nGPT bring about by "
                    "L2 normalisation of q and k themselves. LayerNorm does not.",
                ),
                Option(
                    "The cosine of the angle, times C",
                    "LN(x) without gain has length √C, so LN(x)·LN(y) would be C times a cosine. "
                    "The products with W_q and W_k come after that.",
                ),
                Option(
                    "A number between −1 and 1, whatever the angle",
                    "That holds for unit vectors. Nothing bounds the length of W_q·LN(x) but the "
                    "size of W_q.",
                ),
            ),
        ),
        Question(
            "A head normalises q and k to length 1, with d_k = 64. Which factor gives the scores "
            "of random vectors variance 1?",
            (
                Option(
                    "1/8, as in every Transformer",
                    "A random cosine has variance 1/64. Dividing by 8 leaves 1/4096: all scores "
                    "are nearly 0, and attention is nearly uniform.",
                ),
                Option(
                    "8: here one multiplies by √d_k",
                    "A factor c multiplies the variance by c², and 8²/64 = 1. This is what nGPT "
                    "does.",
                    correct=True,
                ),
                Option(
                    "1: a cosine is between −1 and 1 already",
                    "The range is right and the spread is not. In 64 dimensions 19 of 20 random "
                    "cosines are within 0.25 of 0.",
                ),
                Option(
                    "64, since the variance is 1/64",
                    "A factor of 64 multiplies the variance by 64², which makes it 64. Take the "
                    "root.",
                ),
            ),
        ),
        Question(
            "In a trained MiniLM the scaled scores of many heads have a standard deviation far "
            "from 1. What does that say about the proof?",
            (
                Option(
                    "It is wrong, and √d_k is a convention",
                    "It is right for independent coordinates of mean 0 and variance 1. Over "
                    "draws of its weights a fresh network comes close, except in the variance.",
                ),
                Option(
                    "It holds for d_k → ∞, and 32 is too small",
                    "Var(q·k) = d_k is exact at every width. Only the shape of the distribution "
                    "comes near the normal one as d_k grows.",
                ),
                Option(
                    "It is about initialisation; training changes lengths and makes q and k depend "
                    "on each other",
                    "A trained head is useful because its queries match some keys. The scale gives "
                    "training a good start, and it does not bind what is learned.",
                    correct=True,
                ),
                Option(
                    "It holds, and each head should be divided by its measured deviation",
                    "That would undo what the head has learned: a sharp head is one with large "
                    "scores.",
                ),
            ),
        ),
    ),
)
