"""The quiz of lecture 06."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "a GPT-2 block",
    (
        Question(
            "h_0 is what enters the first of GPT-2's 12 blocks, h_12 what leaves the last. What is "
            "h_12 − h_0?",
            (
                Option(
                    "What the last block's feed-forward gave",
                    "That is the last term of the sum. Each sublayer before it has added its own, "
                    "and none of them is taken away again.",
                ),
                Option(
                    "Nothing one can name: 24 norms stand in between",
                    "They stand beside the stream: each normalises a copy for its sublayer to "
                    "read. With post-LN they would stand in it, and this answer would be right.",
                ),
                Option(
                    "The sum of what 24 sublayers gave",
                    "Every sublayer adds to the stream, and nothing else happens to it. So one can "
                    "ask what each part contributed to a logit, up to the last norm.",
                    correct=True,
                ),
                Option(
                    "The sum of 12 vectors of variance 1, one for each block",
                    "What is added is a sublayer's output, and no norm comes after it. How large "
                    "it is was learned, and there are two in each block.",
                ),
            ),
        ),
        Question(
            "The same prompt is continued twice at temperature 0, with different seeds. Where may "
            "the two texts differ?",
            (
                Option(
                    "Nowhere: the largest logit is taken each time",
                    "Temperature 0 is greedy. The seed decides draws, and nothing is drawn. That "
                    "is also why greedy text tends to end in a loop: the same state gives the "
                    "same token.",
                    correct=True,
                ),
                Option(
                    "Nowhere: division by 0 makes each logit NaN, and both fail",
                    "As a formula, softmax(z/T) has no value at T = 0. Its limit has: all weight "
                    "on the largest logit, and that is how 0 is defined here.",
                ),
                Option(
                    "At tokens whose probability is below one half",
                    "The largest logit wins however small its probability is. A close race makes "
                    "the choice fragile against rounding, not against the seed.",
                ),
                Option(
                    "Everywhere: all tokens get the same probability",
                    "That is the other end: at a very high temperature all logits are divided "
                    "down to nearly 0, and the draw is uniform over the vocabulary.",
                ),
            ),
        ),
        Question(
            "Random tokens stand in a row, and the row is repeated. At the second A of "
            "“… Z A B … Z A”, which token does an induction head read?",
            (
                Option(
                    "The first A, which is the same token",
                    "Reading it tells which token stands here, and that is known. The head in the "
                    "layer below has marked B with what stood before it, so that B is found.",
                ),
                Option(
                    "The first Z, which comes before the first A",
                    "The pattern runs the other way: what matters is what followed A the first "
                    "time, as that is likely to follow it now.",
                ),
                Option(
                    "The second Z, just before it",
                    "A head that reads the token before is the other half of the circuit. It works "
                    "in a layer below, and writes into B: “I came after A”.",
                ),
                Option(
                    "The B that followed the first A",
                    "It looks for a token that came after an A and copies what it finds. That "
                    "takes two layers: the first tells each token what came before it.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "Kaplan et al. (2020) fitted L ∝ N^(−0.076), N the parameters without embeddings. With "
            "enough data, what do ten times as many bring?",
            (
                Option(
                    "A loss lower by 7.6 %",
                    "An exponent is no percentage. The loss is multiplied by 10^(−0.076) = 0.84. "
                    "Close to 1 it would nearly be one: 1 % more parameters, 0.076 % less loss.",
                ),
                Option(
                    "A loss lower by 16 %",
                    "10^(−0.076) = 0.84. To halve the loss one would need 2^(1/0.076), about 9,000 "
                    "times as many: a straight line on log-log paper, and not a steep one.",
                    correct=True,
                ),
                Option(
                    "Half of the loss, if the tokens are ten times as many too",
                    "More tokens help, and no published exponent is near that: halving with ten "
                    "times as much takes one of log 2/log 10 = 0.30.",
                ),
                Option(
                    "A tenth of the loss, less the entropy of the text",
                    "That would be an exponent of 1. The entropy of the text is a floor that later "
                    "fits add as a constant; this one has none.",
                ),
            ),
        ),
        Question(
            "GPT-2 and BERT are stacks of the same two sublayers. Which of these do they have "
            "in common?",
            (
                Option(
                    "The places of the norms",
                    "BERT normalises the sums, as the first transformer did. GPT-2 normalises what "
                    "the sublayers read, and needs one norm more at the end.",
                ),
                Option(
                    "A learned vector for each position",
                    "Both add a row of a learned table, GPT-2 of 1024 rows, BERT of 512. So "
                    "neither can read a longer text. The sinusoids were the first transformer's.",
                    correct=True,
                ),
                Option(
                    "What a token may read",
                    "In BERT all of the text, in GPT-2 itself and what came before. Hence GPT-2 "
                    "can write, and keep its keys and values while it does.",
                ),
                Option(
                    "The words they are trained to predict",
                    "GPT-2 predicts each next token, a score from every position. BERT fills in "
                    "15 % of the words, most of which were hidden from it.",
                ),
            ),
        ),
    ),
)
