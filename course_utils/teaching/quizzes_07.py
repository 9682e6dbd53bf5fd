"""The quiz of lecture 07."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "what not to compute",
    (
        Question(
            "A feed-forward layer is replaced by 8 experts, each of its size, and each token takes "
            "2. What does a token cost in this layer, compared with before?",
            (
                Option(
                    "A quarter",
                    "2 of 8 is a quarter of running all eight, which nobody did before. The layer "
                    "that was replaced is one expert's size.",
                ),
                Option(
                    "Twice as much",
                    "Two experts of the old layer's size, and a router next to nothing. What it "
                    "buys is eight times the parameters in this layer.",
                    correct=True,
                ),
                Option(
                    "Eight times as much, as the parameters are eight times as many",
                    "That is what the layer costs in memory. A token passes through two of the "
                    "eight, and the others are not computed for it.",
                ),
                Option(
                    "As much as before: that is what experts are for",
                    "With k = 1, as in Switch, it would be so. With two experts of full size it is "
                    "two layers' work.",
                ),
            ),
        ),
        Question(
            "512 tokens, 8 experts, k = 2, a capacity factor of 1.25. How many tokens has one "
            "expert room for?",
            (
                Option(
                    "2, the number of experts that a token takes",
                    "That is k, and it belongs to a token. Capacity belongs to an expert: how many "
                    "tokens it takes before it turns the next one away.",
                ),
                Option(
                    "80, a quarter more than its share of 512 tokens",
                    "512/8 · 1.25 = 80 is right for k = 1. With k = 2 there are 1024 choices to be "
                    "seated.",
                ),
                Option(
                    "160, a quarter more than its share of 1024 choices",
                    "1.25 · 512 · 2/8 = 160. Choices beyond that are dropped: the token passes by "
                    "on the residual, or goes on with its other expert alone.",
                    correct=True,
                ),
                Option(
                    "512, since a dropped token would be lost",
                    "512 would do for the worst case, all tokens in one expert. A dropped choice "
                    "loses no token: the residual carries it past the layer.",
                ),
            ),
        ),
        Question(
            "A model with 32 heads goes from 32 heads of keys and values to 8. Which of these "
            "falls to a quarter?",
            (
                Option(
                    "The number of scores: 8 heads are left to compare",
                    "Each of the 32 query heads compares with every key as before; only four of "
                    "them share the keys. As many scores, as many operations.",
                ),
                Option(
                    "The parameters of attention",
                    "The projections to keys and values shrink to a quarter; those of queries and "
                    "output stay. Together: 2 + 2/4 = 2.5 matrices instead of 4.",
                ),
                Option(
                    "The memory of the weights (B, H, T, S)",
                    "There is a row of weights for each query head, and their number has not "
                    "changed. A tiled kernel does not keep them in any case.",
                ),
                Option(
                    "The cache, which writing reads at each step",
                    "It holds 2·L·G·D numbers for each token, and G is a quarter. In writing, "
                    "reading the cache takes much of the time; hence the sharing.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "LoRA starts with B = 0 and a random A. What if both were zero?",
            (
                Option(
                    "Nothing would ever be learned",
                    "The gradient of B has A in it, and that of A has B: both are zero, now and "
                    "after every step. One factor has to be there for the other to move.",
                    correct=True,
                ),
                Option(
                    "Only A would be learned, since B stays zero",
                    "A's gradient is a product with B, so with B = 0 it is zero. In the usual "
                    "start B moves first, and A after it.",
                ),
                Option(
                    "It would learn as usual, one step later",
                    "That is the usual start: at step 1 only B gets a gradient, from step 2 on A "
                    "as well. With both zero there is no first step.",
                ),
                Option(
                    "The first output would not be that of the base model",
                    "It would: the change is B·A, and zero as soon as one of them is. Both random "
                    "is what would change the first output.",
                ),
            ),
        ),
        Question(
            "A MoD layer computes the half of a sequence's tokens with the highest router scores. "
            "Why does that not work as it stands when a text is written token by token?",
            (
                Option(
                    "The router's weights are not known until the text is complete",
                    "They were learned in training and are fixed. Each token's score can be "
                    "computed as soon as the token is there.",
                ),
                Option(
                    "A token that was skipped has no keys for later ones to read",
                    "True, and no obstacle: those that pass read those that passed before them, in "
                    "training and in writing alike.",
                ),
                Option(
                    "Whether a token is in the upper half depends on tokens after it",
                    "High scores to come push it out. So a rule is learned that looks at the "
                    "token alone: its score against a threshold, or a small predictor.",
                    correct=True,
                ),
                Option(
                    "One token cannot be halved, so each would have to be computed",
                    "At capacity one half about every second token is computed whole. The trouble "
                    "is to know which, at the moment when it comes.",
                ),
            ),
        ),
    ),
)
