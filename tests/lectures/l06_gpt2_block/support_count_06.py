"""Wrong counts of GPT-2's parameters, each as one polynomial, and words of its diagnosis."""

from tests.teaching.support_exercises import defined


def count_by(formula):
    """A count as one formula."""
    return defined(f"def count(V, P, C, L, F):\n    return {formula}\n", "count")


TABLES, BLOCK = "(V + P)*C", "4*C*C + 9*C + 2*C*F + F"


def count_of(block=BLOCK, tables=TABLES, last="2*C"):
    return count_by(f"{tables} + L*({block}) + {last}")


WRONG_COUNT = {
    "the output matrix counted again": (
        count_of(tables="(2*V + P)*C"),
        "you gave 163,037,184: 38,597,376 too many. That is V·C, the output matrix counted again",
    ),
    "the output matrix with a bias": (
        count_of(tables="(2*V + P)*C + V"),
        "38,647,633 too many. That is V·C + V",
    ),
    "a bias on the logits": (count_of(last="2*C + V"), "50,257 too many. That is V, a bias"),
    "no token embeddings": (count_of(tables="P*C"), "38,597,376 too few. That is V·C, the token"),
    "no positions": (count_of(tables="V*C"), "786,432 too few. That is P·C, the table"),
    "positions in every block": (
        count_of(block=f"{BLOCK} + P*C", tables="V*C"),
        "You count the table of positions, 786,432 numbers, in every block",
    ),
    "no embeddings": (count_of(tables="0"), "both tables, of tokens and of positions"),
    "embeddings multiplied by each other": (
        count_of(tables="V*P*C"),
        "you gave 39,608,769,024, expected 124,439,808. You multiply the two tables",
    ),
    "one block": (count_by(f"{TABLES} + {BLOCK} + 2*C"), "You count one block, 7,087,872 numbers"),
    "the blocks alone": (
        count_of(tables="0", last="0"),
        "Your count of the blocks is right",
    ),
    "the last norm missing": (count_of(last="0"), "1,536 too few. That is 2·C, the norm after"),
    "the last norm in every block": (
        count_of(block=f"{BLOCK} + 2*C", last="0"),
        "three norms in each block",
    ),
    "no norms at all": (
        count_of(block="4*C*C + 5*C + 2*C*F + F", last="0"),
        "38,400 too few. All norms are missing",
    ),
    "one norm in each block": (
        count_of(block="4*C*C + 7*C + 2*C*F + F"),
        "18,432 too few. That is L·2·C: one norm",
    ),
    "norms without shift": (
        count_of(block="4*C*C + 7*C + 2*C*F + F", last="C"),
        "RMSNorm has the gain alone",
    ),
    "4C of each block missing": (
        count_of(block="4*C*C + 5*C + 2*C*F + F"),
        "36,864 too few. That is 4·C = 3,072 in each block",
    ),
    "the biases of q, k and v missing": (
        count_of(block="4*C*C + 6*C + 2*C*F + F"),
        "the biases of the projections to q, k and v",
    ),
    "C of each block missing": (
        count_of(block="4*C*C + 8*C + 2*C*F + F"),
        "the bias of one layer that ends in the stream",
    ),
    "the inner bias of the feed-forward missing": (
        count_of(block="4*C*C + 9*C + 2*C*F"),
        "36,864 too few. That is F in each block",
    ),
    "the biases of the feed-forward missing": (
        count_of(block="4*C*C + 8*C + 2*C*F"),
        "46,080 too few. That is F + C in each block",
    ),
    "both biases of the feed-forward of width F": (
        count_of(block="4*C*C + 8*C + 2*C*F + 2*F"),
        "F the first, C the second",
    ),
    "all biases missing but those of the norms": (
        count_of(block="4*C*C + 4*C + 2*C*F"),
        "82,944 too few. All biases are missing. GPT-2",
    ),
    "all biases missing, the norms' too": (
        count_of(block="4*C*C + 2*C + 2*C*F", last="C"),
        "the shifts of the norms too",
    ),
    "matrices alone": (
        count_of(block="4*C*C + 2*C*F", last="0"),
        "You count the matrices, which is nearly everything",
    ),
    "the rule of thumb": (
        count_by("12*L*C**2"),
        "you gave 84,934,656, expected 124,439,808. 12·L·C² is the rule of thumb: the matrices",
    ),
    "the rule of thumb and embeddings": (
        count_of(block="12*C**2", last="0"),
        "12·L·C² is the rule of thumb for the blocks",
    ),
    "F taken for 4C": (
        count_of(block="12*C*C + 13*C"),
        "L = 5, F = 13 you gave 3,270, expected 2,555. Right where F = 4·C = 24",
    ),
    "no output projection": (
        count_of(block="3*C*C + 8*C + 2*C*F + F"),
        "7,087,104 too few. That is C² + C in each block",
    ),
    "no output projection, no biases in attention": (
        count_of(block="3*C*C + 5*C + 2*C*F + F"),
        "You count 3·C² for attention. There are four matrices, q, k, v and the output, of 589,824",
    ),
    "no attention": (
        count_of(block="5*C + 2*C*F + F"),
        "That is 4·(C² + C) in each block",
    ),
    "one matrix in the feed-forward": (
        count_of(block="4*C*C + 9*C + C*F + F"),
        "That is C·F = 2,359,296 in each block",
    ),
    "no feed-forward": (count_of(block="4*C*C + 8*C"), "The feed-forward is missing"),
    "three matrices in the feed-forward": (
        count_of(block="4*C*C + 8*C + 3*C*F"),
        "that is SwiGLU",
    ),
    "the feed-forward square": (
        count_of(block="4*C*C + 8*C + C*F + F*F + 2*F"),
        "goes from F to F",
    ),
    "bytes": (
        count_by(f"4*({TABLES} + L*({BLOCK}) + 2*C)"),
        "That is 4 times as many: bytes in float32",
    ),
    "the output matrix again; no positions": (
        count_of(tables="2*V*C"),
        "37,810,944 too many. Two things come together: V·C = 38,597,376 too many",
    ),
    "the output matrix again; no last norm": (
        count_of(tables="(2*V + P)*C", last="0"),
        "tied to the embeddings; and 2·C too few",
    ),
    "the output matrix again; 4C of each block missing": (
        count_of(tables="(2*V + P)*C", block="4*C*C + 5*C + 2*C*F + F"),
        "tied to the embeddings; and 4·C too few in each block",
    ),
    "the output matrix again; no biases in the feed-forward": (
        count_of(tables="(2*V + P)*C", block="4*C*C + 8*C + 2*C*F"),
        "tied to the embeddings; and F + C too few in each block",
    ),
    "no positions; no last norm": (
        count_of(tables="V*C", last="0"),
        "the learned table of positions; and 2·C too few",
    ),
    "no positions; 4C of each block missing": (
        count_of(tables="V*C", block="4*C*C + 5*C + 2*C*F + F"),
        "the learned table of positions; and 4·C too few",
    ),
    "no positions; no biases in the feed-forward": (
        count_of(tables="V*C", block="4*C*C + 8*C + 2*C*F"),
        "the learned table of positions; and F + C too few",
    ),
    "no last norm; no biases in the feed-forward": (
        count_of(block="4*C*C + 8*C + 2*C*F", last="0"),
        "the norm after the last block; and F + C too few",
    ),
}
