"""The quiz of lecture 03."""

from course_utils.teaching.quiz import Option, Question, Quiz

__all__ = ["QUIZ"]

QUIZ = Quiz(
    "one split, many views",
    (
        Question(
            "x has shape (2, 11, 512). x.view(2, 8, 11, 64) has the shape of a split into 8 heads. "
            "What do the 11 rows of its head 0 hold?",
            (
                Option(
                    "The first 64 channels of each of the 11 tokens",
                    "That is the right split, view(2, 11, 8, 64) and transpose(1, 2). A view alone "
                    "keeps the order of the memory, in which a token's 512 numbers come first.",
                ),
                Option(
                    "Token 0 in 8 rows, and 3 pieces of token 1",
                    "512 numbers of a token fill 8 rows of 64. Head 0 never sees the tokens from "
                    "2 on, so attention stays within blocks of neighbours. Nothing complains.",
                    correct=True,
                ),
                Option(
                    "Every 8th channel of each of the 11 tokens",
                    "Dealing channels out like this takes view(2, 11, 64, 8) and a permutation. It "
                    "is harmless while W_q, W_k and W_v are learned; this view is not.",
                ),
                Option(
                    "The channels of tokens from both sentences",
                    "A sentence has 11·512 numbers, as many as 8 heads of 11·64. The border "
                    "between the sentences stays where it is.",
                ),
            ),
        ),
        Question(
            "The width stays 512, and instead of 8 heads there are 16. What halves?",
            (
                Option(
                    "The number of parameters of the layer",
                    "W_q, W_k, W_v and W_O stay 512×512 each: 1,048,576 without biases, for 1 head "
                    "as for 32. The heads share out the columns.",
                ),
                Option(
                    "The multiplications for all scores together",
                    "A score costs half as much, 32 products instead of 64, and there are twice as "
                    "many scores: T·T·512 either way.",
                ),
                Option(
                    "The memory that the weights take",
                    "It doubles: each head has a T×T table of its own, and there are twice as many "
                    "tables.",
                ),
                Option(
                    "The highest rank that a head's scores can have",
                    "q kᵀ is a product over d_k = 512/16 = 32 channels, so its rank is at most 32, "
                    "where it was 64. That is what more heads cost.",
                    correct=True,
                ),
            ),
        ),
        Question(
            "A head of width 4 reads 101 random tokens. Its scores have rank 4. What rank do "
            "its weights have, computed in float64?",
            (
                Option(
                    "101: the softmax lifts the bound",
                    "An exponential of each entry is no linear map, and ranks do not survive it. "
                    "The narrow head is bound in what it compares, not in how it distributes.",
                    correct=True,
                ),
                Option(
                    "4: each row is only divided by its sum",
                    "The division would keep the rank. The exponential before it acts on each "
                    "entry alone, and that changes it.",
                ),
                Option(
                    "5: one more, since every row sums to 1",
                    "Adding a constant to all entries can raise a rank by one. An exponential is "
                    "not an added constant.",
                ),
                Option(
                    "1: rows that sum to 1 differ by a factor",
                    "Rows of the same sum can point in all directions. Rank 1 means that all "
                    "queries distribute alike, as with one key.",
                ),
            ),
        ),
        Question(
            "A decoder of 7 tokens reads an encoder's 11 tokens, of which 3 are padding. What does "
            "the mask of its cross-attention hide?",
            (
                Option(
                    "All tokens after the query's own position",
                    "That is the causal mask of the self-attention before it. The source sentence "
                    "is known as a whole; its last word may decide the first of the translation.",
                ),
                Option(
                    "The rows of the decoder's own padding",
                    "A query that is padding computes something that no one uses. What has to be "
                    "hidden are keys: a mask on rows takes all keys from a query.",
                ),
                Option(
                    "Three of 11 columns, the same for each query",
                    "The weights have shape (7, 11). The columns of padding get weight 0 in all 7 "
                    "rows, and each row still sums to 1 over the other 8.",
                    correct=True,
                ),
                Option(
                    "Nothing: the encoder has hidden padding already",
                    "There no token read the padding. The padding's own vectors exist all the "
                    "same, and cross-attention would read them.",
                ),
            ),
        ),
        Question(
            "One head puts 0.68 of the weight of “it” on “animal” in “The animal didn't cross the "
            "street because it was too tired.” What would show that it finds referents?",
            (
                Option(
                    "Nothing more is needed: chance would be 1/16",
                    "Chance is a low bar. A head that reads the subject, or any noun, or whatever "
                    "comes early, passes it too.",
                ),
                Option(
                    "Sentence pairs where one word changes the referent",
                    "“Wide” for “tired” makes it the street; this head still gives the animal "
                    "more, 0.28 against 0.12. In five such pairs it prefers the same noun in both "
                    "sentences: 5 of 10.",
                    correct=True,
                ),
                Option(
                    "A changed output once the head is set to zero",
                    "That would show that the head is used, not for what. Nor does an unchanged "
                    "output show the opposite: other heads can make up for one.",
                ),
                Option(
                    "A high weight in the same head of some other trained model",
                    "Heads have no fixed roles. Their numbers are an accident of the seed, and "
                    "another model has its own.",
                ),
            ),
        ),
    ),
)
