"""The quiz of lecture 02."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "what saturation costs",
    (
        Question(
            "A row of 64 scores, each of them 85, in float32. What does exp(s)/sum(exp(s)) give?",
            (
                Option(
                    "NaN for every key, since ∞/∞ is not a number",
                    "That begins where one exponential alone overflows, above 88.7. exp(85) is "
                    "8.2e36, which float32 can hold.",
                ),
                Option(
                    "1/64 for every key, as it should be",
                    "Mathematics says so, and the softmax that subtracts the maximum gives it. "
                    "Here the sum is out of range before the division.",
                ),
                Option(
                    "0 for every key, without a NaN to warn of it",
                    "Each exponential is 8.2e36, and 64 of them are more than 3.4e38, the largest "
                    "float32: the sum is ∞, and a finite number over ∞ is 0.",
                    correct=True,
                ),
                Option(
                    "An error, since float32 cannot hold the sum",
                    "Floating-point numbers overflow to ∞ without a word. That is why the maximum "
                    "is subtracted before, not when something looks wrong.",
                ),
            ),
        ),
        Question(
            "A text prints softmax of (1, 2, −∞, 3) as (0.0116, 0.0315, 0, 0.8569). What shows, "
            "without a computer, that this is wrong?",
            (
                Option(
                    "The weights sum to 0.90",
                    "A row of weights sums to 1. A run gives 0.0900, 0.2447, 0 and 0.6652: what "
                    "the three finite scores give without the fourth.",
                    correct=True,
                ),
                Option(
                    "No weight can be exactly 0",
                    "For a finite score none can, except by rounding. exp(−∞) is 0, and that is "
                    "how a hidden key gets no weight.",
                ),
                Option(
                    "With a −∞ in it, all weights are NaN",
                    "Only if −∞ is the largest score of the row. Here the maximum is 3, and "
                    "−∞ − 3 is −∞, whose exponential is 0.",
                ),
                Option(
                    "The order of the weights is not that of the scores",
                    "It is: 0.0116, 0.0315 and 0.8569 rise as 1, 2 and 3 do. Softmax keeps the "
                    "order, and so does this wrong row.",
                ),
            ),
        ),
        Question(
            "For which weights does a softmax react most strongly to its scores, in the Frobenius "
            "norm of its Jacobian?",
            (
                Option(
                    "64 equal weights: nothing is saturated",
                    "Its norm is √63/64 = 0.124. A score moves its own weight by about 1/64 of the "
                    "change, as it competes with 63 others.",
                ),
                Option(
                    "Two weights of 1/2, all others 0",
                    "The norm is 1/2, and no weights have more. On the way from uniform to a "
                    "vertex it rises, peaks where the largest weight is near 1/2, and falls.",
                    correct=True,
                ),
                Option(
                    "One weight of 0.99: the others depend on it alone",
                    "Its norm is 0.01 to 0.02, one to two times what it lacks to reach 1. That is "
                    "saturation: the scores move and the weights do not.",
                ),
                Option(
                    "It is the same for all weights, as each row sums to 1",
                    "The sum is why each row of the Jacobian sums to 0. Its size is another thing: "
                    "0.124 for 64 equal weights, 0 at a vertex.",
                ),
            ),
        ),
        Question(
            "d_k = 64, fresh random W_q and W_k that give unit variance, and no 1/√d_k. What is "
            "the gradient of W_q, compared with that of scaled attention?",
            (
                Option(
                    "About 1e-4 of it: the softmax is saturated",
                    "In one row with a gap of 16 it would be near that. In random rows the largest "
                    "weight averages 0.79, and p(1 − p) about 0.12.",
                ),
                Option(
                    "The same: the rows of weights sum to 1 either way",
                    "The sum says nothing about derivatives. Both the Jacobian and the factor "
                    "before it change when the scale is left out.",
                ),
                Option(
                    "An eighth of it: the chain rule lacks the scale",
                    "The other way round. The scale is a factor 1/8 in the derivative of a score; "
                    "without it that factor is 1, eight times more.",
                ),
                Option(
                    "Ten times as large, most of it from few queries",
                    "A fifth of the queries has 58 % of the gradient (30 % with the scale), and "
                    "nearly another fifth is all but dead, with a largest weight above 0.99.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "Logits are divided by a temperature, then top-p keeps the fewest words that hold 0.9 "
            "of the probability. The temperature rises from 1 to 2. How many words are kept?",
            (
                Option(
                    "Fewer, since every probability is divided by 2",
                    "The logits are divided, not the probabilities. Those still sum to 1, and the "
                    "large ones give to the small ones.",
                ),
                Option(
                    "As many or more, since the probability spreads",
                    "A flatter row needs more words for 0.9: 4 at temperature 1 and 5 at 2 in the "
                    "lecture's example, and 3 at 0.5. Dividing scores by √d_k is the same knob.",
                    correct=True,
                ),
                Option(
                    "As many as before, since the order of the words stays",
                    "The order stays, and with it which words are first. How many it takes depends "
                    "on how much they hold.",
                ),
                Option(
                    "It depends on k alone: the temperature acts afterwards",
                    "That is top-k, which keeps a fixed number. Top-p counts probability, and here "
                    "the temperature acts before it.",
                ),
            ),
        ),
    ),
)
