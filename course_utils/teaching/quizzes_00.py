"""The quiz of lecture 00."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "attention in thirty seconds",
    (
        Question(
            "One trained model reads two sentences, one with a bat in a cave, one with a bat and "
            "a ball. What is different between the two runs?",
            (
                Option(
                    "The matrices that make queries and keys, since they adapt to the input",
                    "The matrices were fixed when training ended. They are the same for every "
                    "sentence, as the filters of a CNN are.",
                ),
                Option(
                    "The row of the embedding table that is looked up for “bat”",
                    "A table has one row per token, so the look-up is the same. The vectors of "
                    "“bat” drift apart afterwards, layer by layer.",
                ),
                Option(
                    "The attention weights, and with them what flows between the tokens",
                    "The weights are computed from the tokens themselves. The parameters are a "
                    "fixed map; the circuit that they form is made anew for every input.",
                    correct=True,
                ),
                Option(
                    "Nothing: a trained model is a fixed function",
                    "It is a fixed function, but of the whole sentence. What the tokens read from "
                    "each other is an intermediate result, and it changes with the sentence.",
                ),
            ),
        ),
        Question(
            "The first word's scaled scores are 0.65, 0.45 and 0.30. A text prints its "
            "weights as 0.348, 0.325 and 0.327. What shows, without a computer, that these weights "
            "cannot come from these scores?",
            (
                Option(
                    "The third score is the lowest, and the third weight is not",
                    "Softmax keeps the order of the scores. A run gives 0.396, 0.324 and 0.279.",
                    correct=True,
                ),
                Option(
                    "The printed weights do not sum to 1",
                    "They do: 0.348 + 0.325 + 0.327 = 1.000. Rows that sum to 1 are needed, and "
                    "they prove little.",
                ),
                Option(
                    "A weight of 0.348 is too far from its score of 0.65",
                    "Weights need not be near scores. Only differences of scores matter: add 10 to "
                    "all three and the weights stay.",
                ),
                Option(
                    "The first word should attend to itself with nearly all its weight",
                    "Nothing demands that. Scores that differ by 0.2 give weights that differ by "
                    "a factor of exp(0.2) = 1.22.",
                ),
            ),
        ),
        Question(
            "“A recurrent layer is O(N), attention is O(N²), so for N = 64 tokens of width C = 384 "
            "the recurrent layer does far less work.” What is wrong?",
            (
                Option(
                    "Nothing: 64² is much larger than 64",
                    "That compares counts of different things. A step of the recurrent layer costs "
                    "C² products, an entry of the N×N matrix costs C.",
                ),
                Option(
                    "Attention runs in parallel on a GPU, which makes it O(N)",
                    "Running in parallel shortens the time, not the work. What parallel hardware "
                    "uses is that attention has no step that waits for another.",
                ),
                Option(
                    "A recurrent layer is O(N²) too, as each step reads all earlier ones",
                    "It reads the last state alone. Everything earlier has to fit through it, and "
                    "that is its bottleneck.",
                ),
                Option(
                    "The width is missing: N·C² for the one, N²·C + N·C² for the other",
                    "At N = 64 and C = 384 the term N²·C is a sixth of N·C². Below N ≈ C the "
                    "quadratic term is the smaller one.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "Plain convolutions of width 3 are stacked, without dilation or pooling. How many "
            "layers are needed before one output sees all of N = 65 tokens?",
            (
                Option(
                    "6, since the field doubles with every layer",
                    "It doubles when the dilation doubles: 1, 2, 4 and so on. Without dilation the "
                    "field grows by 2 tokens a layer, and O(log N) does not hold.",
                ),
                Option(
                    "32, since every layer adds 2 tokens",
                    "L layers see 1 + 2L tokens, so L = (N − 1)/2 = 32. With doubling dilation 6 "
                    "would do, and attention needs 1.",
                    correct=True,
                ),
                Option(
                    "64, since every layer adds 1 token",
                    "A window of 3 adds two tokens to the field, one on either side. 64 layers are "
                    "what centred windows need to carry the first token to the last place.",
                ),
                Option(
                    "1, since the filter slides over the whole sequence",
                    "The filter slides, but each output is computed from 3 tokens. A filter reads "
                    "the same pattern everywhere; it does not connect the places.",
                ),
            ),
        ),
        Question(
            "Kernel regression weights a value by exp(−|q − k|²/2). These weights equal "
            "softmax(q·k) when all keys have the same length. Why the keys and not the query?",
            (
                Option(
                    "The query is a row of the same matrix, so its length is 1 anyway",
                    "Nothing makes a query's length 1. It may be any number and the weights still "
                    "agree.",
                ),
                Option(
                    "A factor of the query alone cancels in the row; a key's own factor does not",
                    "−|q − k|²/2 = q·k − |q|²/2 − |k|²/2. The softmax divides exp(−|q|²/2) out, as "
                    "every weight of the row has it; exp(−|k|²/2) only if all keys share it.",
                    correct=True,
                ),
                Option(
                    "Longer keys make a score above 1, and a kernel is at most 1",
                    "A softmax takes any scores. What counts is whether both sets of weights are "
                    "in the same proportions.",
                ),
                Option(
                    "The keys are fixed numbers, as in an RBF network; the query is learned",
                    "In attention keys and queries are both computed from the input. The lengths "
                    "matter for the algebra, not for what is learned.",
                ),
            ),
        ),
    ),
)
